// verilator lint_off WIDTH
// A 3x3 convolution with weights of the caller's: the sum of the products,
// shifted right with its sign, cut to 0...255.
// tandem: kernel rtl.conv3x3
// tandem: doc 3×3 convolution: the weighted sum, shifted right, cut to 0...255; beyond the edge the outermost pixel repeats
// tandem: array src r uint8 s_axis item=width dim=1 halo=1
// tandem: array dst w uint8 m_axis item=width dim=1
// tandem: value width int32 reg=0 implied
// tandem: value k00 int16 reg=1
// tandem: value k01 int16 reg=2
// tandem: value k02 int16 reg=3
// tandem: value k10 int16 reg=4
// tandem: value k11 int16 reg=5
// tandem: value k12 int16 reg=6
// tandem: value k20 int16 reg=7
// tandem: value k21 int16 reg=8
// tandem: value k22 int16 reg=9
// tandem: value shift uint8 reg=10 default=0
// tandem: limit width MAXROW
// tandem: limit shift 31
// tandem: split
module conv3x3 #(parameter MAXROW = 8192) (
  input wire aclk, input wire aresetn,
  input wire [7:0] s_axis_tdata, input wire s_axis_tvalid, output wire s_axis_tready, input wire s_axis_tlast,
  output reg [7:0] m_axis_tdata, output reg m_axis_tvalid, input wire m_axis_tready, output reg m_axis_tlast,
  input wire cfg_we, input wire [3:0] cfg_addr, input wire [31:0] cfg_data);
  reg [31:0] width;
  reg signed [15:0] k [0:8]; // row by row
  reg [4:0] shift;
  always @(posedge aclk)
    if (cfg_we)
      case (cfg_addr)
        0: width <= cfg_data;
        10: shift <= cfg_data[4:0];
        default: if (cfg_addr < 10) k[cfg_addr - 1] <= cfg_data[15:0];
      endcase
  wire go = !m_axis_tvalid || m_axis_tready;

  wire step, fresh, head, emit, closes;
  wire [23:0] column;
  columns #(.ROWS(3), .REACH(1), .MAXROW(MAXROW)) rows (
    .aclk(aclk), .aresetn(aresetn), .go(go), .row(width), .channels(3'd1),
    .s_tdata(s_axis_tdata), .s_tvalid(s_axis_tvalid), .s_tready(s_axis_tready), .s_tlast(s_axis_tlast),
    .step(step), .fresh(fresh), .column(column), .head(head), .emit(emit), .closes(closes));

  reg [23:0] c0, c1, c2; // the columns of the window, the newest first
  reg v1, l1, v2, l2, v3, l3;
  reg signed [27:0] top, mid, low, sum;
  wire signed [27:0] shifted = sum >>> shift;
  function signed [27:0] line(input [7:0] a, input [7:0] b, input [7:0] c,
                              input signed [15:0] ka, input signed [15:0] kb, input signed [15:0] kc);
    line = $signed({1'b0, a}) * ka + $signed({1'b0, b}) * kb + $signed({1'b0, c}) * kc;
  endfunction
  always @(posedge aclk)
    if (!aresetn) begin
      v1 <= 0; v2 <= 0; v3 <= 0; m_axis_tvalid <= 0;
    end else if (go) begin
      if (step) begin
        c0 <= fresh ? column : c0;
        c1 <= head ? column : c0;
        c2 <= c1;
      end
      v1 <= emit; l1 <= closes;
      top <= line(c2[23:16], c1[23:16], c0[23:16], k[0], k[1], k[2]);
      mid <= line(c2[15:8], c1[15:8], c0[15:8], k[3], k[4], k[5]);
      low <= line(c2[7:0], c1[7:0], c0[7:0], k[6], k[7], k[8]);
      v2 <= v1; l2 <= l1;
      sum <= top + mid + low;
      v3 <= v2; l3 <= l2;
      m_axis_tdata <= shifted < 0 ? 8'd0 : shifted > 255 ? 8'd255 : shifted[7:0];
      m_axis_tvalid <= v3; m_axis_tlast <= l3;
    end
endmodule
