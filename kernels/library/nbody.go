package library

import (
	"fmt"
	"math"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// NBodyStep moves bodies that attract each other by one step of the
// semi-implicit Euler method: all accelerations from the old positions, new
// velocities, new positions from the new velocities. The gravitational constant
// is 1; forces are added in the order of the bodies. Bodies at the same place do
// not attract each other where softening is 0.
var NBodyStep = nbodyStep()

// nbodyItem is the number of bodies that a work-item moves.
const nbodyItem = 4

func nbodyStep() *kernels.Kernel {
	four := kernels.PerItem(4 * nbodyItem)
	return &kernels.Kernel{
		Name: "nbody.step",
		Doc:  "one step of gravitating bodies, all pairs, semi-implicit Euler, G = 1",
		Params: []kernels.Param{
			in("pos", devices.Float32, whole("pos"), "x, y, z and mass of each body, (n, 4)"),
			in("vel", devices.Float32, four, "velocity x, y, z and a fourth number that is passed on, (n, 4)"),
			out("pos_out", devices.Float32, four, "positions after the step; not pos itself"),
			out("vel_out", devices.Float32, four, "velocities after the step"),
			value("dt", devices.Float32, nil, "length of the step in time"),
			value("softening", devices.Float32, 0.01, "its square is added to every squared distance, 0 or more"),
			implied("n", devices.Int32, "bodies"),
		},
		Variants: variants(nbodyGo, clSource("nbody.cl", ""), "nbody_step", kernels.Needs{}),
		Infer: func(c *kernels.Call) error {
			if _, err := sameShape(c, "pos", "vel", "pos_out", "vel_out"); err != nil {
				return err
			}
			s, err := dims(c, "pos", 2, "(bodies, 4)")
			if err != nil {
				return err
			}
			if s[1] != 4 {
				return fmt.Errorf("\"pos\" has shape %s, want (bodies, 4)", kernels.ShapeString(s))
			}
			if err := set(c, "n", s[0]); err != nil {
				return err
			}
			return setRange(c, ceilDiv(s[0], nbodyItem))
		},
		Work: func(c *kernels.Call) kernels.Work {
			n := size(c, "n")
			return kernels.Work{Flops: 34 * n * n, Bytes: bytesOf(c, "pos", "vel", "pos_out", "vel_out")}
		},
	}
}

func nbodyGo(r devices.Range, a *devices.Args) {
	pos, vel := devices.Slice[[4]float32](a, 0), devices.Slice[[4]float32](a, 1)
	posOut, velOut := devices.Slice[[4]float32](a, 2), devices.Slice[[4]float32](a, 3)
	dt, softening := devices.Value[float32](a, 4), devices.Value[float32](a, 5)
	n := int(devices.Value[int32](a, 6))
	soft := float32(softening * softening)
	lo, hi := r.Lo[0]*nbodyItem, min(r.Hi[0]*nbodyItem, n)
	var eight eightBodies
	for i := lo; i < hi; i++ {
		p, v := pos[i], vel[i]
		lane := (i - lo) & 7
		if lane == 0 {
			eight.place(pos[i:hi], pos[:n], soft)
		}
		ax, ay, az := eight.pull[0][lane], eight.pull[1][lane], eight.pull[2][lane]
		v[0] += float32(ax * dt)
		v[1] += float32(ay * dt)
		v[2] += float32(az * dt)
		p[0] += float32(v[0] * dt)
		p[1] += float32(v[1] * dt)
		p[2] += float32(v[2] * dt)
		posOut[i], velOut[i] = p, v
	}
}

// eightBodies are places, by axis, and what pulls there.
type eightBodies struct {
	at, pull [3][8]float32
}

// place computes the pull of pos on the first eight of at, on fewer if there
// are no more. Places that are missing are taken for the last one.
func (b *eightBodies) place(at, pos [][4]float32, soft float32) {
	for lane := range 8 {
		p := &at[min(lane, len(at)-1)]
		b.at[0][lane], b.at[1][lane], b.at[2][lane] = p[0], p[1], p[2]
	}
	if attractions(b, pos, soft) {
		return
	}
	for lane := range min(8, len(at)) {
		b.pull[0][lane], b.pull[1][lane], b.pull[2][lane] = attraction(pos, at[lane][0], at[lane][1], at[lane][2], soft)
	}
}

// attraction is the acceleration at a place. The inverse root is that of root,
// written out: it is the innermost of the loop.
func attraction(pos [][4]float32, x, y, z, soft float32) (ax, ay, az float32) {
	for j := range pos {
		q := &pos[j]
		dx, dy, dz := q[0]-x, q[1]-y, q[2]-z
		d2 := ((float32(dx*dx) + float32(dy*dy)) + float32(dz*dz)) + soft
		h := 0.5 * d2
		r := math.Float32frombits(0x5f375a86 - math.Float32bits(d2)>>1)
		r *= 1.5 - float32(float32(h*r)*r)
		r *= 1.5 - float32(float32(h*r)*r)
		r *= 1.5 - float32(float32(h*r)*r)
		if !(d2 > 0) {
			r = 0
		}
		f := float32(float32(q[3]*r)*r) * r
		ax += float32(f * dx)
		ay += float32(f * dy)
		az += float32(f * dz)
	}
	return ax, ay, az
}
