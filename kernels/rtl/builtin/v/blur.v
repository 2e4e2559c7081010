// verilator lint_off WIDTH
// A 5x5 Gaussian: weights 1 4 6 4 1 in both directions, (sum + 128) / 256.
// tandem: kernel image.blur
// tandem: doc 5×5 Gaussian: weights 1 4 6 4 1 in both directions, (sum + 128) / 256
// tandem: array src r uint8 s_axis item=width*channels dim=1 halo=2
// tandem: array dst w uint8 m_axis item=width*channels dim=1
// tandem: value width int32 reg=0 implied
// tandem: value height int32 implied
// tandem: value channels int32 reg=1 implied
// tandem: limit width*channels MAXROW
// tandem: limit channels 4
// tandem: split
module image_blur #(parameter MAXROW = 8192) (
  input wire aclk, input wire aresetn,
  input wire [7:0] s_axis_tdata, input wire s_axis_tvalid, output wire s_axis_tready, input wire s_axis_tlast,
  output reg [7:0] m_axis_tdata, output reg m_axis_tvalid, input wire m_axis_tready, output reg m_axis_tlast,
  input wire cfg_we, input wire [0:0] cfg_addr, input wire [31:0] cfg_data);
  reg [31:0] width;
  reg [2:0] channels;
  reg [31:0] row;
  always @(posedge aclk) begin
    if (cfg_we && cfg_addr == 0) width <= cfg_data;
    if (cfg_we && cfg_addr == 1) channels <= cfg_data[2:0];
    row <= width[15:0] * channels;
  end
  wire go = !m_axis_tvalid || m_axis_tready;

  wire step, fresh, head, emit, closes;
  wire [39:0] column;
  // The row's length takes a cycle more than the registers.
  reg ready;
  always @(posedge aclk) ready <= aresetn && !cfg_we;
  columns #(.ROWS(5), .REACH(2), .MAXROW(MAXROW)) rows (
    .aclk(aclk), .aresetn(ready), .go(go), .row(row), .channels(channels),
    .s_tdata(s_axis_tdata), .s_tvalid(s_axis_tvalid), .s_tready(s_axis_tready), .s_tlast(s_axis_tlast),
    .step(step), .fresh(fresh), .column(column), .head(head), .emit(emit), .closes(closes));

  wire [11:0] sum = column[39:32] + {column[31:24], 2'b0} + {column[23:16], 2'b0} + {column[23:16], 1'b0}
                  + {column[15:8], 2'b0} + column[7:0];
  // The sums of the last columns, the newest first. Those of one channel are
  // channels apart.
  reg [11:0] sums [0:16];
  wire [11:0] next = fresh ? sum : sums[channels - 1];
  wire [4:0] c1 = {2'd0, channels}, c2 = {1'd0, channels, 1'b0}, c3 = c2 + c1, c4 = {channels, 2'b0};
  integer i;
  reg v1, l1, v2, l2;
  reg [15:0] outer, inner;
  wire [15:0] total = outer + inner + 16'd128;
  always @(posedge aclk)
    if (!ready) begin
      v1 <= 0; v2 <= 0; m_axis_tvalid <= 0;
    end else if (go) begin
      if (step) begin
        sums[0] <= next;
        for (i = 1; i < 17; i = i + 1)
          // Beyond the edge the outermost pixel repeats.
          sums[i] <= head && (i == {27'd0, c1} || i == {27'd0, c2}) ? next : sums[i-1];
      end
      v1 <= emit; l1 <= closes;
      outer <= sums[0] + sums[c4] + {sums[c1], 2'b0};
      inner <= {sums[c2], 2'b0} + {sums[c2], 1'b0} + {sums[c3], 2'b0};
      v2 <= v1; l2 <= l1;
      m_axis_tdata <= total[15:8];
      m_axis_tvalid <= v2; m_axis_tlast <= l2;
    end
endmodule
