package observe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices/devicetest"
)

func writeReport(t *testing.T, rec Recording) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteReport(&b, rec, ReportInfo{Predicted: 3900 * us, Created: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestReportIsOneClosedPage(t *testing.T) {
	page := writeReport(t, bigRun(50, 3))
	for _, bad := range []string{"http://", "https://", "<img", "url(", "@import", "<script src", "<link"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
	if !strings.Contains(page, "&lt;/script&gt;&lt;img src=x") || !strings.Contains(page, `\u003c/script\u003e\u003cimg`) {
		t.Error("a hostile name is not where it should be, escaped")
	}
	if n := strings.Count(page, "</script>"); n != 2 {
		t.Errorf("%d scripts end, want 2", n)
	}
	if !strings.Contains(page, "default-src &#39;none&#39;") && !strings.Contains(page, "default-src 'none'") {
		t.Error("no content security policy")
	}
}

func TestReportNumbers(t *testing.T) {
	page := writeReport(t, edgesRun())
	for _, want := range []string{
		"<dt>Makespan</dt><dd>4.00 ms</dd><dd class=\"note\">predicted 3.90 ms, &#43;3\u00a0%</dd>",
		"<dt>Tasks</dt><dd>4</dd><dd class=\"note\">8 launches</dd>",
		"<dt>Work-items</dt><dd>3 488 000</dd>",
		"<b>opencl:0</b><small>Intel(R) Arc(TM) A770 Graphics</small></th><td>3.25 ms</td>",
		"Task graph with 4 boxes",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// chromium opens a page without a window and returns its document after the
// scripts have run.
func chromium(t *testing.T, page, fragment string) string {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		path, err = exec.LookPath("google-chrome")
	}
	if err != nil {
		err = errors.New("no chromium in PATH; install the package chromium")
	}
	devicetest.Require(t, "chromium", err)
	dir := t.TempDir()
	file := filepath.Join(dir, "report.html")
	if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
		"--user-data-dir="+filepath.Join(dir, "profile"), "--virtual-time-budget=2000", "--dump-dom", "file://"+file+fragment)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("chromium: %v\n%s", err, stderr.String())
	}
	return string(out)
}

// bodyData reads the data attributes that the page's script leaves on <body>.
func bodyData(t *testing.T, dom string) map[string]string {
	t.Helper()
	tag := regexp.MustCompile(`<body[^>]*>`).FindString(dom)
	data := map[string]string{}
	for _, m := range regexp.MustCompile(`data-([a-z-]+)="([^"]*)"`).FindAllStringSubmatch(tag, -1) {
		data[m[1]] = m[2]
	}
	return data
}

func TestReportInABrowser(t *testing.T) {
	const seed = 7
	t.Logf("seed %d", seed)
	big := bigRun(10000, seed)
	for _, tt := range []struct {
		name, fragment string
		rec            Recording
	}{
		{"edges", "#light", edgesRun()},
		{"big", "#dark", big},
		{"empty", "#dark", Recording{}},
	} {
		data := bodyData(t, chromium(t, writeReport(t, tt.rec), tt.fragment))
		want := map[string]string{
			"ready": "1", "errors": "0", "theme": tt.fragment[1:],
			"slices": fmt.Sprint(len(tt.rec.Launches) + len(tt.rec.Copies)),
		}
		for k, v := range want {
			if data[k] != v {
				t.Errorf("%s: data-%s is %q, want %q", tt.name, k, data[k], v)
			}
		}
	}
}

// use plays a reader: keys, wheel and pointer. It stands in a page without the
// policy that keeps other scripts out.
const use = `{
const box = document.getElementById("timeline"), canvas = document.getElementById("canvas"), out = document.body.dataset;
const key = (k) => box.dispatchEvent(new KeyboardEvent("keydown", { key: k, bubbles: true, cancelable: true }));
const text = (id) => document.getElementById(id).innerText.replace(/\s+/g, " ");
const pointer = (kind, x, y, more) => canvas.dispatchEvent(new PointerEvent(kind, Object.assign({ clientX: x, clientY: y, pointerId: 1, bubbles: true }, more)));
canvas.setPointerCapture = () => {};
key("ArrowRight");
out.first = text("detail");
key("ArrowRight"); key("ArrowDown"); key("ArrowDown");
out.below = text("detail");
key("Escape");
out.closed = document.getElementById("detail").hidden;
const r = canvas.getBoundingClientRect();
pointer("pointermove", r.left + r.width * 0.45, r.top + 74);
out.tip = text("tip");
pointer("pointerleave", 0, 0);
out.gone = document.getElementById("tip").hidden;
canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: -300, clientX: r.left + r.width * 0.45, clientY: r.top + 74, cancelable: true }));
pointer("pointerdown", r.left + 500, r.top + 74, { button: 0 });
pointer("pointermove", r.left + 520, r.top + 74);
pointer("pointerup", r.left + 520, r.top + 74);
document.getElementById("critical").click();
document.getElementById("theme").click();
out.pressed = document.getElementById("critical").getAttribute("aria-pressed");
}`

func TestReportListensToItsReader(t *testing.T) {
	page := writeReport(t, edgesRun())
	page = regexp.MustCompile(`<meta http-equiv="Content-Security-Policy"[^>]*>`).ReplaceAllString(page, "")
	page = strings.Replace(page, "</body>", "<script>"+use+"</script></body>", 1)
	data := bodyData(t, chromium(t, page, "#light"))
	for k, want := range map[string]string{
		"errors": "0", "theme": "dark", "pressed": "true", "closed": "true", "gone": "true",
	} {
		if data[k] != want {
			t.Errorf("data-%s is %q, want %q", k, data[k], want)
		}
	}
	for k, words := range map[string][]string{
		"first": {"gray [1/2]", "cpu:0 · compute#0", "image.gray", "290 000", "1000 × 290", "680 µs"},
		"below": {"gray [2/2]", "opencl:0 · compute#0", "from 0, 290", "Critical path yes"},
		"tip":   {"blur [1/2]", "1.77 ms", "Followed by"},
	} {
		for _, w := range words {
			if !strings.Contains(data[k], w) {
				t.Errorf("data-%s is %q, want %q in it", k, data[k], w)
			}
		}
	}
}
