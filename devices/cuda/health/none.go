//go:build !nvml || !cgo

package health

import "context"

// nvmlReader stands in for NVML in programs that were built without it.
type nvmlReader struct{}

// Built reports whether this program can ask NVML.
const Built = false

func (nvmlReader) read([]GPU) (Source, []GPU) {
	return Source{Reason: notBuilt, Hint: buildHint}, nil
}

const (
	notBuilt  = "NVML is not built in"
	buildHint = "build with CGO_ENABLED=1 and -tags nvml for utilisation, temperature, power, ECC, Xid events, MIG and NVLink"
)

// Watch tells that there is nothing to watch with.
func (r *Reader) Watch(context.Context, func(Xid)) error {
	return &UnavailableError{Reason: notBuilt, Hint: buildHint}
}
