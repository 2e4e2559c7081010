// verilator lint_off WIDTH
// y = a·x + y in 32-bit integers that wrap around.
// tandem: kernel vector.saxpy.i32
// tandem: doc y = a·x + y, integers wrap around
// tandem: value a int32 reg=0
// tandem: array x r int32 s_axis
// tandem: array y rw int32 s1_axis,m_axis
// tandem: split
module vector_saxpy(
  input wire aclk, input wire aresetn,
  input wire [31:0] s_axis_tdata, input wire s_axis_tvalid, output wire s_axis_tready, input wire s_axis_tlast,
  input wire [31:0] s1_axis_tdata, input wire s1_axis_tvalid, output wire s1_axis_tready, input wire s1_axis_tlast,
  output reg [31:0] m_axis_tdata, output reg m_axis_tvalid, input wire m_axis_tready, output reg m_axis_tlast,
  input wire cfg_we, input wire [0:0] cfg_addr, input wire [31:0] cfg_data);
  reg [31:0] a, product, y;
  reg v, last;
  always @(posedge aclk) if (cfg_we && cfg_addr == 0) a <= cfg_data;
  wire go = !m_axis_tvalid || m_axis_tready;
  wire both = s_axis_tvalid && s1_axis_tvalid;
  assign s_axis_tready = go && both;
  assign s1_axis_tready = go && both;
  always @(posedge aclk)
    if (!aresetn) begin
      v <= 0; m_axis_tvalid <= 0;
    end else if (go) begin
      v <= both; last <= s_axis_tlast && s1_axis_tlast;
      product <= a * s_axis_tdata;
      y <= s1_axis_tdata;
      m_axis_tvalid <= v; m_axis_tlast <= last;
      m_axis_tdata <= product + y;
    end
endmodule
