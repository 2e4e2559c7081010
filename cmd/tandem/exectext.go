package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// print writes the table of devices and the first values of each output.
func (e *execution) print(w io.Writer, doc *execJSON) {
	size := func(n []int) string { return strings.Trim(strings.ReplaceAll(fmt.Sprint(n), " ", ","), "[]") }
	fmt.Fprintf(w, "%s, global %s", doc.Kernel, size(doc.Global))
	if doc.Local != nil {
		fmt.Fprintf(w, ", local %s", size(doc.Local))
	}
	fmt.Fprintf(w, "\n\n%-12s %8s %10s %10s %10s %12s\n", "device", "launches", "min", "median", "max", "bandwidth")
	for _, d := range doc.Devices {
		if d.Refused != "" {
			fmt.Fprintf(w, "%-12s %s\n", d.ID, d.Refused)
			continue
		}
		rate := "-"
		if d.BytesPerS > 0 {
			rate = rateText(d.BytesPerS, "B")
		}
		note := ""
		if d.SameOutputs != nil && !*d.SameOutputs {
			note = "   outputs differ from the first device's"
		}
		fmt.Fprintf(w, "%-12s %8d %10s %10s %10s %12s%s\n", d.ID, d.Launches, secondsText(d.MinS), secondsText(d.MedianS), secondsText(d.MaxS), rate, note)
	}
	if len(doc.Outputs) > 0 {
		fmt.Fprintln(w)
	}
	for _, o := range doc.Outputs {
		more := ""
		if n := (&kernels.Array{Shape: o.Shape}).Elements(); n > int64(len(o.First)) {
			more = " ..."
		}
		fmt.Fprintf(w, "%s %s%s: %s%s", o.Name, o.DType, kernels.ShapeString(o.Shape), strings.Join(o.First, " "), more)
		if o.File != "" {
			fmt.Fprintf(w, " -> %s", o.File)
		}
		fmt.Fprintln(w)
	}
}

func secondsText(s float64) string { return timeText(time.Duration(s * 1e9)) }

// firstValues are the first elements of an array as text.
func firstValues(t devices.DType, b []byte, most int) []string {
	list := []string{}
	size := t.Size()
	for i := 0; i < most && (i+1)*size <= len(b); i++ {
		list = append(list, valueText(t, b[i*size:(i+1)*size]))
	}
	return list
}

// valueText is one element in its shortest exact form.
func valueText(t devices.DType, b []byte) string {
	switch t {
	case devices.Bool:
		return strconv.FormatBool(b[0] != 0)
	case devices.Float16:
		return strconv.FormatFloat(kernels.FloatFromHalf(number[uint16](b)), 'g', -1, 32)
	case devices.Float32:
		return strconv.FormatFloat(float64(math.Float32frombits(number[uint32](b))), 'g', -1, 32)
	case devices.Float64:
		return strconv.FormatFloat(math.Float64frombits(number[uint64](b)), 'g', -1, 64)
	case devices.Int8:
		return fmt.Sprint(number[int8](b))
	case devices.Int16:
		return fmt.Sprint(number[int16](b))
	case devices.Int32:
		return fmt.Sprint(number[int32](b))
	case devices.Int64:
		return fmt.Sprint(number[int64](b))
	case devices.Uint8:
		return fmt.Sprint(number[uint8](b))
	case devices.Uint16:
		return fmt.Sprint(number[uint16](b))
	case devices.Uint32:
		return fmt.Sprint(number[uint32](b))
	}
	return fmt.Sprint(number[uint64](b))
}

// number reads bytes in the order of the host, aligned or not.
func number[T devices.Number](b []byte) T {
	v := make([]T, 1)
	copy(devices.AsBytes(v), b)
	return v[0]
}
