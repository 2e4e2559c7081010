package health

import (
	"fmt"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// A Xid is an event that the kernel module reports of a GPU: the number is the
// kind of trouble. See NVIDIA's "XID Errors".
type Xid struct {
	UUID            string    `json:"uuid"` // of the GPU; "" for one that is gone
	Code            int       `json:"xid"`
	Text            string    `json:"text"`
	Fatal           bool      `json:"fatal"` // the GPU, not only a program on it, needs help
	GPUInstance     *int      `json:"gpu_instance,omitempty"`
	ComputeInstance *int      `json:"compute_instance,omitempty"`
	At              time.Time `json:"at"`
}

// xids are the numbers that are met in practice: what they mean, and whether
// the GPU itself is in trouble rather than the program on it.
var xids = map[int]struct {
	text  string
	fatal bool
}{
	13:  {"a kernel went wrong (illegal address or instruction)", false},
	31:  {"a program touched memory that is not its own", false},
	32:  {"the driver's command stream was damaged", false},
	38:  {"the firmware of the driver failed", true},
	43:  {"a program on the GPU was stopped", false},
	45:  {"work was removed, as a consequence of an earlier error", false},
	48:  {"an uncorrectable error in memory (double-bit ECC)", true},
	61:  {"the GPU's own controller stopped", true},
	62:  {"the GPU's own controller halted", true},
	63:  {"a memory page or row is to be replaced", false},
	64:  {"a memory page or row could not be replaced", true},
	68:  {"the video processor failed", false},
	69:  {"the graphics engine failed", false},
	74:  {"an NVLink failed", true},
	79:  {"the GPU has fallen off the bus", true},
	92:  {"many single-bit errors in memory", false},
	94:  {"an uncorrectable error in memory, contained in one program", false},
	95:  {"an uncorrectable error in memory, not contained: every program is affected", true},
	109: {"switching between programs timed out", false},
	119: {"the GPU's system processor does not answer", true},
	120: {"the GPU's system processor failed", true},
	140: {"an error in memory that could not be corrected was found", true},
	143: {"the GPU failed to start", true},
}

// describeXid fills in what a number means.
func describeXid(x *Xid) {
	known, ok := xids[x.Code]
	if !ok {
		x.Text = fmt.Sprintf("Xid %d", x.Code)
		return
	}
	x.Text, x.Fatal = known.text, known.fatal
}

// UnavailableError says that NVML cannot be used, and what would help. It
// wraps devices.ErrUnavailable.
type UnavailableError struct {
	Reason string
	Hint   string
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("health: %s: %v; %s", e.Reason, devices.ErrUnavailable, e.Hint)
}

// Unwrap gives devices.ErrUnavailable.
func (e *UnavailableError) Unwrap() error { return devices.ErrUnavailable }
