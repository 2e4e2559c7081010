// verilator lint_off WIDTH
// The edge strength of a gray picture: the whole part of the root of gx² + gy²,
// at most 255, with the 3x3 weights of Sobel.
// tandem: kernel image.sobel
// tandem: doc edge strength: the whole part of the root of gx² + gy² (3×3 Sobel), at most 255
// tandem: array src r uint8 s_axis item=width dim=1 halo=1
// tandem: array dst w uint8 m_axis item=width dim=1
// tandem: value width int32 reg=0 implied
// tandem: value height int32 implied
// tandem: limit width MAXROW
// tandem: split
module image_sobel #(parameter MAXROW = 8192) (
  input wire aclk, input wire aresetn,
  input wire [7:0] s_axis_tdata, input wire s_axis_tvalid, output wire s_axis_tready, input wire s_axis_tlast,
  output reg [7:0] m_axis_tdata, output reg m_axis_tvalid, input wire m_axis_tready, output reg m_axis_tlast,
  input wire cfg_we, input wire [0:0] cfg_addr, input wire [31:0] cfg_data);
  reg [31:0] width;
  always @(posedge aclk) if (cfg_we && cfg_addr == 0) width <= cfg_data;
  wire go = !m_axis_tvalid || m_axis_tready;

  wire step, fresh, head, emit, closes;
  wire [23:0] column;
  columns #(.ROWS(3), .REACH(1), .MAXROW(MAXROW)) rows (
    .aclk(aclk), .aresetn(aresetn), .go(go), .row(width), .channels(3'd1),
    .s_tdata(s_axis_tdata), .s_tvalid(s_axis_tvalid), .s_tready(s_axis_tready), .s_tlast(s_axis_tlast),
    .step(step), .fresh(fresh), .column(column), .head(head), .emit(emit), .closes(closes));

  // Of each column the weighted sum and the difference of its ends.
  wire signed [11:0] sum = {4'd0, column[23:16]} + {3'd0, column[15:8], 1'b0} + {4'd0, column[7:0]};
  wire signed [11:0] diff = $signed({4'd0, column[7:0]}) - $signed({4'd0, column[23:16]});
  reg signed [11:0] s0, s1, s2, d0, d1, d2;
  reg v1, l1, v2, l2, v3, l3, v5, l5;
  reg signed [12:0] gx, gy;
  reg [25:0] square;
  reg [15:0] rest5;
  reg [7:0] root5;
  reg big5;

  // Four binary digits of a root, the highest first (restoring).
  function [7:0] root(input [15:0] v, input [7:0] from, input [3:0] top);
    integer i;
    reg [7:0] r, t;
    begin
      r = from;
      for (i = 0; i < 4; i = i + 1) begin
        t = r | (8'd1 << (top - i));
        if ({8'd0, t} * {8'd0, t} <= v) r = t;
      end
      root = r;
    end
  endfunction

  always @(posedge aclk)
    if (!aresetn) begin
      v1 <= 0; v2 <= 0; v3 <= 0; v5 <= 0; m_axis_tvalid <= 0;
    end else if (go) begin
      if (step) begin
        s0 <= fresh ? sum : s0;
        d0 <= fresh ? diff : d0;
        s1 <= head ? sum : s0; // beyond the edge the outermost pixel repeats
        d1 <= head ? diff : d0;
        s2 <= s1;
        d2 <= d1;
      end
      v1 <= emit; l1 <= closes;
      gx <= s0 - s2;
      gy <= d0 + (d1 <<< 1) + d2;
      v2 <= v1; l2 <= l1;
      square <= gx * gx + gy * gy;
      v3 <= v2; l3 <= l2;
      big5 <= square >= 26'd65025;
      rest5 <= square[15:0];
      root5 <= root(square[15:0], 8'd0, 4'd7);
      v5 <= v3; l5 <= l3;
      m_axis_tdata <= big5 ? 8'd255 : root(rest5, root5, 4'd3);
      m_axis_tvalid <= v5; m_axis_tlast <= l5;
    end
endmodule
