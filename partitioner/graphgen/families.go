package graphgen

import "math"

// forkJoin is stages of equal tasks between single ones.
func forkJoin(b *builder, tasks int) {
	width := 4 + b.rng.IntN(9)
	join := b.add(0, 0.5, 1)
	for len(b.nodes) < tasks {
		var stage []int
		for range width {
			stage = append(stage, b.add(1, 1, 1, join))
		}
		join = b.add(0, 0.5, 1, stage...)
	}
}

// side is the least number of tiles for which count reaches tasks.
func side(tasks int, count func(n int) int) int {
	n := 2
	for count(n) < tasks {
		n++
	}
	return n
}

// cholesky is the tiled factorisation A = L·Lᵀ: potrf, trsm, syrk, gemm.
func cholesky(b *builder, tasks int) {
	n := side(tasks, func(n int) int { return n * (n + 1) * (n + 2) / 6 })
	tile := map[[2]int]int{}
	last := func(i, j int) []int {
		if t, ok := tile[[2]int{i, j}]; ok {
			return []int{t}
		}
		return nil
	}
	for k := range n {
		tile[[2]int{k, k}] = b.add(0, 0.33, 1, last(k, k)...)
		for i := k + 1; i < n; i++ {
			tile[[2]int{i, k}] = b.add(1, 1, 1, append(last(i, k), tile[[2]int{k, k}])...)
		}
		for i := k + 1; i < n; i++ {
			for j := k + 1; j <= i; j++ {
				kind, work, deps := 3, 2.0, append(last(i, j), tile[[2]int{i, k}])
				if i == j {
					kind, work = 2, 1
				} else {
					deps = append(deps, tile[[2]int{j, k}])
				}
				tile[[2]int{i, j}] = b.add(kind, work, 1, deps...)
			}
		}
	}
}

// lu is the tiled factorisation A = L·U without pivoting.
func lu(b *builder, tasks int) {
	n := side(tasks, func(n int) int { return n * (n + 1) * (2*n + 1) / 6 })
	tile := map[[2]int]int{}
	last := func(i, j int) []int {
		if t, ok := tile[[2]int{i, j}]; ok {
			return []int{t}
		}
		return nil
	}
	for k := range n {
		tile[[2]int{k, k}] = b.add(0, 0.67, 1, last(k, k)...)
		for i := k + 1; i < n; i++ {
			tile[[2]int{i, k}] = b.add(1, 1, 1, append(last(i, k), tile[[2]int{k, k}])...)
			tile[[2]int{k, i}] = b.add(2, 1, 1, append(last(k, i), tile[[2]int{k, k}])...)
		}
		for i := k + 1; i < n; i++ {
			for j := k + 1; j < n; j++ {
				tile[[2]int{i, j}] = b.add(3, 2, 1, append(last(i, j), tile[[2]int{i, k}], tile[[2]int{k, j}])...)
			}
		}
	}
}

// fft is a tree of recursive calls followed by butterflies.
func fft(b *builder, tasks int) {
	levels := 2
	for m := 4; 2*m-1+m*levels < tasks; m *= 2 {
		levels++
	}
	row := []int{b.add(0, 0.3, 1)}
	for l := range levels {
		var next []int
		for _, t := range row {
			s := 1 / float64(int(2)<<l)
			next = append(next, b.add(0, 0.3, s, t), b.add(0, 0.3, s, t))
		}
		row = next
	}
	s := 1 / float64(len(row))
	for l := range levels {
		next := make([]int, len(row))
		for i := range row {
			next[i] = b.add(1, 1, s, row[i], row[i^1<<l])
		}
		row = next
	}
}

// gauss is Gaussian elimination: a pivot column and an update of each column
// behind it, again and again.
func gauss(b *builder, tasks int) {
	n := side(tasks, func(n int) int { return (n*n + n - 2) / 2 })
	column := make([]int, n)
	for j := range column {
		column[j] = -1
	}
	dep := func(j int) []int {
		if column[j] < 0 {
			return nil
		}
		return []int{column[j]}
	}
	for k := range n - 1 {
		left := float64(n-k) / float64(n)
		column[k] = b.add(0, left, left, dep(k)...)
		for j := k + 1; j < n; j++ {
			column[j] = b.add(1, 2*left, left, append(dep(j), column[k])...)
		}
	}
}

// montage is the workflow that makes mosaics of the sky from overlapping
// pictures.
func montage(b *builder, tasks int) {
	w := max(3, (tasks-6)/4)
	var project, diff, background []int
	for range w {
		project = append(project, b.add(0, 3, 2))
	}
	for i := range w {
		diff = append(diff, b.add(1, 1, 0.2, project[i], project[(i+1)%w]))
		if i%2 == 0 {
			diff = append(diff, b.add(1, 1, 0.2, project[i], project[(i+2)%w]))
		}
	}
	concat := b.add(2, 2, 0.2, diff...)
	model := b.add(3, 4, 0.1, concat)
	for i := range w {
		background = append(background, b.add(4, 1, 2, project[i], model))
	}
	table := b.add(5, 1, 0.2, background...)
	add := b.add(6, 6, 4, append([]int{table}, background...)...)
	b.add(8, 0.5, 0.1, b.add(7, 2, 1, add))
}

// stencil is time steps over a row of tiles, each needing its neighbours.
func stencil(b *builder, tasks int) {
	w := max(3, int(math.Sqrt(float64(tasks)))+b.rng.IntN(4)-2)
	row := make([]int, w)
	for i := range row {
		row[i] = b.add(0, 1, 1)
	}
	for len(b.nodes) < tasks {
		next := make([]int, w)
		for i := range row {
			deps := []int{row[i]}
			if i > 0 {
				deps = append(deps, row[i-1])
			}
			if i+1 < w {
				deps = append(deps, row[i+1])
			}
			next[i] = b.add(0, 1, 1, deps...)
		}
		row = next
	}
}

// tree goes out to leaves and comes back, two or three branches at a time.
func tree(b *builder, tasks int) {
	fan := 2 + b.rng.IntN(2)
	row := []int{b.add(0, 1, 1)}
	var rows [][]int
	for 2*len(b.nodes) < tasks {
		rows = append(rows, row)
		var next []int
		for _, t := range row {
			for range fan {
				next = append(next, b.add(0, 1, 1, t))
			}
		}
		row = next
	}
	for i := len(rows) - 1; i >= 0; i-- {
		var next []int
		for j := range rows[i] {
			next = append(next, b.add(1, 1, 1, row[j*fan:(j+1)*fan]...))
		}
		row = next
	}
}

// layered is random: layers of random width, each task needing a few of the
// two layers before it; sizes differ by a factor of ten.
func layered(b *builder, tasks int) {
	var before, recent []int
	for len(b.nodes) < tasks {
		var layer []int
		pool := append(append([]int{}, before...), recent...)
		for range 1 + b.rng.IntN(2*int(math.Sqrt(float64(tasks)))) {
			var deps []int
			seen := map[int]bool{}
			for range min(len(pool), 1+b.rng.IntN(4)) {
				if q := pool[b.rng.IntN(len(pool))]; !seen[q] {
					seen[q] = true
					deps = append(deps, q)
				}
			}
			layer = append(layer, b.add(b.rng.IntN(5), math.Pow(10, b.rng.Float64()), math.Pow(10, b.rng.Float64()), deps...))
		}
		before, recent = recent, layer
	}
}

// chains are independent chains of unequal length and kinds.
func chains(b *builder, tasks int) {
	n := 3 + b.rng.IntN(8)
	length := max(2, tasks/n)
	for range n {
		t := b.add(b.rng.IntN(4), 1, 1)
		for range length/2 + b.rng.IntN(length) {
			t = b.add(b.rng.IntN(4), 1, 1, t)
		}
	}
}
