// verilator lint_off WIDTH
// A filter with eight taps on 16-bit samples: y[i] = (h0·x[i] + h1·x[i-1] + ...
// + h7·x[i-7]) >> shift; samples before the first are 0.
// tandem: kernel rtl.fir
// tandem: doc FIR filter with eight taps: y[i] = (h0·x[i] + ... + h7·x[i-7]) >> shift; before the first sample all is 0
// tandem: array x r int16 s_axis
// tandem: array y w int32 m_axis
// tandem: value h0 int16 reg=0
// tandem: value h1 int16 reg=1
// tandem: value h2 int16 reg=2
// tandem: value h3 int16 reg=3
// tandem: value h4 int16 reg=4
// tandem: value h5 int16 reg=5
// tandem: value h6 int16 reg=6
// tandem: value h7 int16 reg=7
// tandem: value shift uint8 reg=8 default=0
// tandem: limit shift 31
module fir(
  input wire aclk, input wire aresetn,
  input wire [15:0] s_axis_tdata, input wire s_axis_tvalid, output wire s_axis_tready, input wire s_axis_tlast,
  output reg [31:0] m_axis_tdata, output reg m_axis_tvalid, input wire m_axis_tready, output reg m_axis_tlast,
  input wire cfg_we, input wire [3:0] cfg_addr, input wire [31:0] cfg_data);
  reg signed [15:0] h [0:7];
  reg [4:0] shift;
  always @(posedge aclk)
    if (cfg_we) begin
      if (cfg_addr < 8) h[cfg_addr[2:0]] <= cfg_data[15:0];
      else shift <= cfg_data[4:0];
    end
  // Transposed form: each tap adds its product to what the next one passes on.
  reg signed [34:0] sum [0:7];
  reg v, last;
  wire go = !m_axis_tvalid || m_axis_tready;
  assign s_axis_tready = go && aresetn;
  wire signed [15:0] x = s_axis_tdata;
  wire signed [34:0] out = sum[0] >>> shift;
  integer i;
  always @(posedge aclk)
    if (!aresetn) begin
      v <= 0; m_axis_tvalid <= 0;
      for (i = 0; i < 8; i = i + 1) sum[i] <= 0;
    end else if (go) begin
      if (s_axis_tvalid) begin
        for (i = 0; i < 7; i = i + 1) sum[i] <= sum[i+1] + x * h[i];
        sum[7] <= x * h[7];
      end
      v <= s_axis_tvalid; last <= s_axis_tlast;
      m_axis_tvalid <= v; m_axis_tlast <= last;
      m_axis_tdata <= out[31:0];
    end
endmodule
