package bitstream

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/tandemrun/tandem/devices"
)

// A GBS file is the magic, the length of the metadata in 32 bits, the metadata
// in JSON, and the bitstream.
const gbsMagic = "XeonFPGA\xb7GBSv001"

// gbsMetadata is the part of the metadata that is looked at.
type gbsMetadata struct {
	Version int `json:"version"`
	Image   struct {
		InterfaceID string  `json:"interface-uuid"`
		ClockLow    float64 `json:"clock-frequency-low"`
		ClockHigh   float64 `json:"clock-frequency-high"`
		Clusters    []struct {
			Name     string `json:"name"`
			Contexts int    `json:"total-contexts"`
			ID       string `json:"accelerator-type-uuid"`
		} `json:"accelerator-clusters"`
	} `json:"afu-image"`
	Platform string `json:"platform-name"`
}

func readGBS(data []byte) (*File, error) {
	head, err := part(data, "GBS: head", 0, uint64(len(gbsMagic))+4)
	if err != nil {
		return nil, err
	}
	size := binary.LittleEndian.Uint32(head[len(gbsMagic):])
	meta, err := part(data, "GBS: metadata", uint64(len(head)), uint64(size))
	if err != nil {
		return nil, err
	}
	var m gbsMetadata
	if err := json.Unmarshal(meta, &m); err != nil {
		return nil, fmt.Errorf("GBS: metadata of %d bytes: %v: %w", size, err, devices.ErrInvalid)
	}
	f := &File{Format: GBS, Version: fmt.Sprint(m.Version), Board: m.Platform, InterfaceID: NormalID(m.Image.InterfaceID)}
	if !isID(f.InterfaceID) {
		return nil, fmt.Errorf("GBS: metadata: interface-uuid %q is no id: %w", m.Image.InterfaceID, devices.ErrInvalid)
	}
	for _, c := range m.Image.Clusters {
		id := NormalID(c.ID)
		if !isID(id) {
			return nil, fmt.Errorf("GBS: metadata: accelerator-type-uuid %q is no id: %w", c.ID, devices.ErrInvalid)
		}
		f.Accelerators = append(f.Accelerators, Accelerator{c.Name, id, c.Contexts})
	}
	for _, c := range []Clock{{"low", m.Image.ClockLow}, {"high", m.Image.ClockHigh}} {
		if c.MHz > 0 {
			f.ClocksMHz = append(f.ClocksMHz, c)
		}
	}
	at := int64(len(head)) + int64(size)
	f.Sections = []Section{{"metadata", int64(len(head)), int64(size)}, {"bitstream", at, int64(len(data)) - at}}
	return f, nil
}
