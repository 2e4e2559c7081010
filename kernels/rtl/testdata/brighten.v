// tandem: doc adds v to every byte, at most 255
// tandem: array x r uint8 s_axis
// tandem: array y w uint8 m_axis
// tandem: value v uint8 reg=0 default=16
// tandem: split
module brighten(
  input wire aclk, input wire aresetn,
  input wire [7:0] s_axis_tdata, input wire s_axis_tvalid, output wire s_axis_tready, input wire s_axis_tlast,
  output reg [7:0] m_axis_tdata, output reg m_axis_tvalid, input wire m_axis_tready, output reg m_axis_tlast,
  input wire cfg_we, input wire [0:0] cfg_addr, input wire [31:0] cfg_data);

  reg [7:0] v;
  always @(posedge aclk) if (cfg_we) v <= cfg_data[7:0];

  wire [8:0] sum = s_axis_tdata + v;
  assign s_axis_tready = !m_axis_tvalid || m_axis_tready;
  always @(posedge aclk)
    if (!aresetn) m_axis_tvalid <= 0;
    else if (s_axis_tready) begin
      m_axis_tvalid <= s_axis_tvalid;
      m_axis_tdata <= sum[8] ? 8'd255 : sum[7:0];
      m_axis_tlast <= s_axis_tlast;
    end
endmodule
