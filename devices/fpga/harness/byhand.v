// x = x * f + s: a kernel of one stage, which takes and gives a word a cycle.
//
// tandem: array x rw uint32 s_axis,m_axis
// tandem: value f uint32 reg=0
// tandem: value s uint32 reg=1
// tandem: split
module multiply_add(
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
