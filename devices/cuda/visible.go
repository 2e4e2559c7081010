package cuda

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// The variables by which users choose GPUs. The driver library reads them
// itself; what is here explains what it did.
const (
	visibleVariable = "CUDA_VISIBLE_DEVICES"
	orderVariable   = "CUDA_DEVICE_ORDER"
)

// A Selection is what CUDA_VISIBLE_DEVICES says, entry by entry.
type Selection struct {
	Set     bool   // the variable is set; if not, every GPU is visible
	Text    string // its value
	Entries []Entry
	// Problem says why there are fewer GPUs than entries, "" if there are not.
	// The driver stops at the first entry that fits nothing, without a word.
	Problem string
}

// An Entry is one word of CUDA_VISIBLE_DEVICES.
type Entry struct {
	Text  string
	Index int    // position in the driver's order, -1: it is named by UUID
	UUID  string // the beginning of a UUID, "GPU-…" or "MIG-…"; "" for a position
	GPU   int    // which of the GPUs that ReadSelection was given; -1: none, or not known
}

// ReadSelection reads the value of CUDA_VISIBLE_DEVICES the way the driver
// does: positions, UUIDs or the beginnings of them, and parts of GPUs (MIG-…),
// separated by commas; the list ends at the first entry that fits no GPU or
// more than one. uuids are the UUIDs of all GPUs of the machine, in the order
// of their PCI addresses, with those of their MIG parts behind them; nil if
// they are not known. Positions are in that order only if byPCI says so: by
// default the driver has the fastest first.
func ReadSelection(value string, set, byPCI bool, uuids []string) Selection {
	s := Selection{Set: set, Text: value}
	if !set {
		return s
	}
	if strings.TrimSpace(value) == "" {
		s.Problem = visibleVariable + " is set to nothing, which hides every GPU"
		return s
	}
	seen := map[string]bool{}
	for word := range strings.SplitSeq(value, ",") {
		word = strings.TrimSpace(word)
		e := Entry{Text: word, Index: -1, GPU: -1}
		switch n, err := strconv.Atoi(word); {
		case err == nil && n < 0:
			s.Problem = fmt.Sprintf("%s=%s: %s ends the list: what comes from there on is hidden", visibleVariable, value, word)
			return s
		case err == nil:
			e.Index = n
			whole := 0
			for _, u := range uuids {
				if strings.HasPrefix(u, "GPU-") {
					whole++
				}
			}
			if uuids != nil && n >= whole {
				s.Problem = fmt.Sprintf("%s=%s: there is no GPU %d, only 0 to %d: it and what comes after it is hidden", visibleVariable, value, n, whole-1)
				return s
			}
			if uuids != nil && byPCI || whole == 1 {
				e.GPU = n
			}
		case strings.HasPrefix(word, "GPU-") || strings.HasPrefix(word, "MIG-"):
			e.UUID = word
			if uuids == nil {
				break
			}
			for i, u := range uuids {
				if !strings.HasPrefix(strings.ToLower(u), strings.ToLower(word)) {
					continue
				}
				if e.GPU >= 0 {
					s.Problem = fmt.Sprintf("%s=%s: %s fits more than one GPU, %s and %s: it and what comes after it is hidden", visibleVariable, value, word, uuids[e.GPU], u)
					return s
				}
				e.GPU = i
			}
			// MIG-GPU-<uuid>/<instance>/<compute instance> is the old form,
			// which names the GPU.
			if e.GPU < 0 && !strings.HasPrefix(word, "MIG-GPU-") {
				s.Problem = fmt.Sprintf("%s=%s: no GPU has a UUID that begins with %s: it and what comes after it is hidden", visibleVariable, value, word)
				return s
			}
		default:
			s.Problem = fmt.Sprintf("%s=%s: %q is no number and no UUID (GPU-…, MIG-…): it and what comes after it is hidden", visibleVariable, value, word)
			return s
		}
		if key := strings.ToLower(word); seen[key] {
			s.Problem = fmt.Sprintf("%s=%s: %s is there twice, and the driver then shows no GPU at all", visibleVariable, value, word)
			s.Entries = nil
			return s
		} else {
			seen[key] = true
		}
		s.Entries = append(s.Entries, e)
	}
	return s
}

// selection is what this process's environment says.
func selection(uuids []string) Selection {
	value, set := os.LookupEnv(visibleVariable)
	return ReadSelection(value, set, os.Getenv(orderVariable) == "PCI_BUS_ID", uuids)
}

// hiddenReason says in what way the environment hides GPUs, "" if it does not.
func hiddenReason() string {
	s := selection(nil)
	if s.Problem != "" {
		return s.Problem
	}
	if s.Set {
		return visibleVariable + "=" + s.Text + " chooses GPUs, and there are none of these"
	}
	return ""
}

func hiddenHint() string {
	if selection(nil).Set {
		return "unset " + visibleVariable + ", or list the GPUs with nvidia-smi -L and name one of them there"
	}
	return ""
}
