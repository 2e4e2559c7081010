package opencl

import (
	"fmt"
	"slices"

	"github.com/tandemrun/tandem/devices"
	"unsafe"
)

// Divide implements devices.Divider with clCreateSubDevices: by counts where
// the device can, otherwise equally if the counts are all the same. Each part
// has a context of its own.
func (d *device) Divide(counts []int) ([]devices.Device, error) {
	if err := d.usable("divide"); err != nil {
		return nil, err
	}
	if len(counts) == 0 {
		return nil, fmt.Errorf("%s: divide into no parts: %w", d.info.ID, devices.ErrInvalid)
	}
	sum := 0
	for i, n := range counts {
		if n <= 0 {
			return nil, fmt.Errorf("%s: divide: part %d has %d compute units: %w", d.info.ID, i, n, devices.ErrInvalid)
		}
		sum += n
	}
	if sum > d.info.ComputeUnits {
		return nil, fmt.Errorf("%s: divide %v: %d compute units asked, the device has %d: %w",
			d.info.ID, counts, sum, d.info.ComputeUnits, devices.ErrInvalid)
	}
	ids, err := d.createParts(counts)
	if err != nil {
		return nil, err
	}
	var parts []devices.Device
	for i, id := range ids {
		info, t := describe(d.api, id, d.platform)
		info.Backend, info.Ordinal, info.ID = d.info.Backend, d.info.Ordinal, fmt.Sprintf("%s.%d", d.info.ID, i)
		info.PhysicalID, info.PCI, info.UUID = d.info.PhysicalID, d.info.PCI, d.info.UUID
		part, err := openDevice(d.api, listed{id, d.platform, info, t}, d.cache)
		if err != nil {
			for _, rest := range ids[i:] {
				d.api.call(d.api.releaseDevice, rest)
			}
			for _, p := range parts {
				_ = p.Close()
			}
			return nil, err
		}
		part.parent = d
		d.open[kindDevice].Add(1)
		parts = append(parts, part)
	}
	return parts, nil
}

// createParts makes the sub-devices and returns one handle per count.
func (d *device) createParts(counts []int) ([]uintptr, error) {
	even := counts[0]
	for _, n := range counts {
		if n != even {
			even = 0
		}
	}
	var props []uintptr
	switch {
	case d.traits.partition:
		props = append(props, partitionByCounts)
		for _, n := range counts {
			props = append(props, uintptr(n))
		}
		props = append(props, partitionByCountsListEnd, 0)
	case d.traits.partitionEven && even > 0:
		props = []uintptr{partitionEqually, uintptr(even), 0}
	default:
		return nil, fmt.Errorf("%s: divide %v: the device cannot be cut that way: %w", d.info.ID, counts, devices.ErrUnsupported)
	}
	// Equally may make more parts than are asked for.
	ids, n := make([]uintptr, max(len(counts), d.info.ComputeUnits)), new(uint32)
	code := d.api.call(d.api.createSubDevices, d.id, uintptr(unsafe.Pointer(&props[0])), uintptr(len(ids)), uintptr(unsafe.Pointer(&ids[0])), uintptr(unsafe.Pointer(n)))
	if code != success {
		return nil, fmt.Errorf("%s: %w", d.info.ID, failed(code, "clCreateSubDevices(%v)", counts))
	}
	ids = ids[:min(int(*n), len(ids))]
	if len(ids) < len(counts) {
		return nil, fmt.Errorf("%s: divide %v: the driver made %d parts: %w", d.info.ID, counts, len(ids), devices.ErrUnsupported)
	}
	for _, extra := range ids[len(counts):] {
		d.api.call(d.api.releaseDevice, extra)
	}
	return slices.Clone(ids[:len(counts)]), nil
}
