// The kernels of the conformance kit that a streaming device can have.

// tandem: array x rw uint32 s_axis,m_axis
// tandem: value f uint32 reg=0
// tandem: value s uint32 reg=1
// tandem: split
module mad_u32(
  input wire aclk, input wire aresetn,
  input wire [31:0] s_axis_tdata, input wire s_axis_tvalid, output wire s_axis_tready, input wire s_axis_tlast,
  output reg [31:0] m_axis_tdata, output reg m_axis_tvalid, input wire m_axis_tready, output reg m_axis_tlast,
  input wire cfg_we, input wire [3:0] cfg_addr, input wire [31:0] cfg_data);
  reg [31:0] f, s;
  always @(posedge aclk) if (cfg_we) case (cfg_addr) 0: f <= cfg_data; 1: s <= cfg_data; default: ; endcase
  assign s_axis_tready = !m_axis_tvalid || m_axis_tready;
  always @(posedge aclk)
    if (!aresetn) m_axis_tvalid <= 0;
    else if (s_axis_tready) begin
      m_axis_tvalid <= s_axis_tvalid;
      m_axis_tdata <= s_axis_tdata * f + s;
      m_axis_tlast <= s_axis_tlast;
    end
endmodule

// tandem: array src r uint8 s_axis
// tandem: array dst w uint8 m_axis
// tandem: split
module copy(
  input wire aclk, input wire aresetn,
  input wire [7:0] s_axis_tdata, input wire s_axis_tvalid, output wire s_axis_tready, input wire s_axis_tlast,
  output wire [7:0] m_axis_tdata, output wire m_axis_tvalid, input wire m_axis_tready, output wire m_axis_tlast);
  assign m_axis_tdata = s_axis_tdata;
  assign m_axis_tvalid = s_axis_tvalid && aresetn;
  assign m_axis_tlast = s_axis_tlast;
  assign s_axis_tready = m_axis_tready && aresetn;
endmodule

// tandem: array dst w uint8 m_axis
// tandem: value v uint8 reg=0
// tandem: count dst reg=1
// tandem: split
module fill(
  input wire aclk, input wire aresetn,
  output wire [7:0] m_axis_tdata, output wire m_axis_tvalid, input wire m_axis_tready, output wire m_axis_tlast,
  input wire cfg_we, input wire [0:0] cfg_addr, input wire [31:0] cfg_data);
  reg [7:0] v;
  reg [31:0] left;
  assign m_axis_tdata = v;
  assign m_axis_tvalid = left != 0;
  assign m_axis_tlast = left == 1;
  always @(posedge aclk)
    if (!aresetn) left <= 0;
    else if (cfg_we && cfg_addr == 0) v <= cfg_data[7:0];
    else if (cfg_we) left <= cfg_data;
    else if (m_axis_tvalid && m_axis_tready) left <= left - 1;
endmodule

// Counts each work-item once; the box is a line here.
// tandem: array cells rw uint32 s_axis,m_axis
// tandem: value w uint32
// tandem: value h uint32
// tandem: value n uint32
// tandem: split
module count(
  input wire aclk, input wire aresetn,
  input wire [31:0] s_axis_tdata, input wire s_axis_tvalid, output wire s_axis_tready, input wire s_axis_tlast,
  output wire [31:0] m_axis_tdata, output wire m_axis_tvalid, input wire m_axis_tready, output wire m_axis_tlast);
  assign m_axis_tdata = s_axis_tdata + 1;
  assign m_axis_tvalid = s_axis_tvalid && aresetn;
  assign m_axis_tlast = s_axis_tlast;
  assign s_axis_tready = m_axis_tready && aresetn;
endmodule

// tandem: array out w int64 m_axis whole
// tandem: value a int8 reg=0
// tandem: value b uint8 reg=1
// tandem: value c int16 reg=2
// tandem: value d uint16 reg=3
// tandem: value e int32 reg=4
// tandem: value f uint32 reg=5
// tandem: value g int64 reg=6
// tandem: value h uint64 reg=8
// tandem: value i float32 reg=10
// tandem: count out reg=11
module scalars(
  input wire aclk, input wire aresetn,
  output reg [63:0] m_axis_tdata, output wire m_axis_tvalid, input wire m_axis_tready, output wire m_axis_tlast,
  input wire cfg_we, input wire [3:0] cfg_addr, input wire [31:0] cfg_data);
  reg [31:0] r [0:10];
  reg [3:0] at;
  reg on;
  always @(posedge aclk) if (cfg_we && cfg_addr < 11) r[cfg_addr] <= cfg_data;
  always @*
    case (at)
      0: m_axis_tdata = {{56{r[0][7]}}, r[0][7:0]};
      1: m_axis_tdata = {56'd0, r[1][7:0]};
      2: m_axis_tdata = {{48{r[2][15]}}, r[2][15:0]};
      3: m_axis_tdata = {48'd0, r[3][15:0]};
      4: m_axis_tdata = {{32{r[4][31]}}, r[4]};
      5: m_axis_tdata = {32'd0, r[5]};
      6: m_axis_tdata = {r[7], r[6]};
      7: m_axis_tdata = {r[9], r[8]};
      default: m_axis_tdata = {32'd0, r[10]};
    endcase
  assign m_axis_tvalid = on;
  assign m_axis_tlast = at == 8;
  always @(posedge aclk)
    if (!aresetn) begin on <= 0; at <= 0; end
    else if (cfg_we && cfg_addr == 11) on <= 1;
    else if (on && m_axis_tready) begin
      at <= at + 1;
      if (m_axis_tlast) on <= 0;
    end
endmodule

// Says which of two arrays have no words.
// tandem: array a r uint8 s_axis whole
// tandem: array b r uint8 s1_axis whole
// tandem: array out w uint32 m_axis
// tandem: count a reg=0
// tandem: count b reg=1
// tandem: count out reg=2
module nulls(
  input wire aclk, input wire aresetn,
  input wire [7:0] s_axis_tdata, input wire s_axis_tvalid, output wire s_axis_tready,
  input wire [7:0] s1_axis_tdata, input wire s1_axis_tvalid, output wire s1_axis_tready,
  output wire [31:0] m_axis_tdata, output reg m_axis_tvalid, input wire m_axis_tready, output wire m_axis_tlast,
  input wire cfg_we, input wire [1:0] cfg_addr, input wire [31:0] cfg_data);
  reg a, b;
  assign s_axis_tready = 0;
  assign s1_axis_tready = 0;
  assign m_axis_tdata = {30'd0, b, a};
  assign m_axis_tlast = 1;
  always @(posedge aclk)
    if (!aresetn) m_axis_tvalid <= 0;
    else begin
      if (cfg_we && cfg_addr == 0) a <= cfg_data == 0;
      if (cfg_we && cfg_addr == 1) b <= cfg_data == 0;
      if (cfg_we && cfg_addr == 2) m_axis_tvalid <= 1;
      else if (m_axis_tready) m_axis_tvalid <= 0;
    end
endmodule

// A linear congruential sequence, one step in a cycle.
// tandem: array out w uint32 m_axis
// tandem: value n uint32 reg=0
// tandem: count out reg=1
module spin(
  input wire aclk, input wire aresetn,
  output wire [31:0] m_axis_tdata, output wire m_axis_tvalid, input wire m_axis_tready, output wire m_axis_tlast,
  input wire cfg_we, input wire [0:0] cfg_addr, input wire [31:0] cfg_data);
  reg [31:0] n, x, step, item, left;
  assign m_axis_tdata = x;
  assign m_axis_tvalid = left != 0 && step == n;
  assign m_axis_tlast = left == 1;
  always @(posedge aclk)
    if (!aresetn) begin left <= 0; step <= 0; item <= 1; x <= 1; end
    else if (cfg_we && cfg_addr == 0) n <= cfg_data;
    else if (cfg_we) left <= cfg_data;
    else if (left != 0 && step != n) begin
      x <= x * 1664525 + 1013904223;
      step <= step + 1;
    end else if (left != 0 && m_axis_tready) begin
      left <= left - 1;
      step <= 0;
      item <= item + 1;
      x <= item + 1;
    end
endmodule

// tandem: array out w uint32 m_axis
module fail(
  input wire aclk, input wire aresetn,
  output wire [31:0] m_axis_tdata, output wire m_axis_tvalid, input wire m_axis_tready, output wire m_axis_tlast);
  assign m_axis_tdata = 0;
  assign m_axis_tvalid = 0;
  assign m_axis_tlast = 0;
  always @(posedge aclk) if (aresetn && m_axis_tready) $fatal(1, "the kernel fails on purpose");
endmodule
