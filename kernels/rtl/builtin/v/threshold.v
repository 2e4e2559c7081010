// verilator lint_off WIDTH
// 255 where the picture is at least level, else 0.
// tandem: kernel image.threshold
// tandem: doc 255 where the picture is at least level, else 0
// tandem: array src r uint8 s_axis
// tandem: array dst w uint8 m_axis
// tandem: value level int32 reg=0 default=128
// tandem: split
module image_threshold(
  input wire aclk, input wire aresetn,
  input wire [7:0] s_axis_tdata, input wire s_axis_tvalid, output wire s_axis_tready, input wire s_axis_tlast,
  output reg [7:0] m_axis_tdata, output reg m_axis_tvalid, input wire m_axis_tready, output reg m_axis_tlast,
  input wire cfg_we, input wire [0:0] cfg_addr, input wire [31:0] cfg_data);
  reg signed [31:0] level;
  always @(posedge aclk) if (cfg_we && cfg_addr == 0) level <= cfg_data;
  assign s_axis_tready = !m_axis_tvalid || m_axis_tready;
  always @(posedge aclk)
    if (!aresetn) m_axis_tvalid <= 0;
    else if (s_axis_tready) begin
      m_axis_tvalid <= s_axis_tvalid;
      m_axis_tdata <= $signed({24'd0, s_axis_tdata}) >= level ? 8'd255 : 8'd0;
      m_axis_tlast <= s_axis_tlast;
    end
endmodule
