// verilator lint_off WIDTH
// gray = (77·red + 150·green + 29·blue + 128) / 256. Pixels have 1, 3 or 4
// bytes; one of a single byte is copied, a fourth one is not looked at.
// tandem: kernel image.gray
// tandem: doc gray = (77·red + 150·green + 29·blue + 128) / 256
// tandem: array src r uint8 s_axis item=width*channels dim=1
// tandem: array dst w uint8 m_axis item=width dim=1
// tandem: value width int32 reg=0 implied
// tandem: value channels int32 reg=1 implied
// tandem: split
module image_gray(
  input wire aclk, input wire aresetn,
  input wire [7:0] s_axis_tdata, input wire s_axis_tvalid, output wire s_axis_tready, input wire s_axis_tlast,
  output reg [7:0] m_axis_tdata, output reg m_axis_tvalid, input wire m_axis_tready, output reg m_axis_tlast,
  input wire cfg_we, input wire [0:0] cfg_addr, input wire [31:0] cfg_data);
  reg [2:0] channels;
  always @(posedge aclk) if (cfg_we && cfg_addr == 1) channels <= cfg_data[2:0];
  reg [2:0] at;
  reg [15:0] sum;
  wire complete = at == channels - 1;
  wire go = !m_axis_tvalid || m_axis_tready;
  assign s_axis_tready = go && aresetn;
  wire [15:0] weight = at == 0 ? 16'd77 : at == 1 ? 16'd150 : at == 2 ? 16'd29 : 16'd0;
  wire [15:0] total = (at == 0 ? 16'd128 : sum) + weight * s_axis_tdata;
  always @(posedge aclk)
    if (!aresetn) begin
      at <= 0; m_axis_tvalid <= 0;
    end else if (go) begin
      m_axis_tvalid <= s_axis_tvalid && complete;
      m_axis_tlast <= s_axis_tlast;
      m_axis_tdata <= channels == 1 ? s_axis_tdata : total[15:8];
      if (s_axis_tvalid) begin
        at <= complete ? 0 : at + 1;
        sum <= total;
      end
    end
endmodule
