// verilator lint_off WIDTH
// The CRC-32 of IEEE 802.3 (reflected, polynomial 0xedb88320), a byte in a
// cycle.
// tandem: kernel rtl.crc32
// tandem: doc CRC-32 of IEEE 802.3
// tandem: array src r uint8 s_axis
// tandem: array crc w uint32 m_axis whole
module crc32(
  input wire aclk, input wire aresetn,
  input wire [7:0] s_axis_tdata, input wire s_axis_tvalid, output wire s_axis_tready, input wire s_axis_tlast,
  output wire [31:0] m_axis_tdata, output reg m_axis_tvalid, input wire m_axis_tready, output wire m_axis_tlast);
  reg [31:0] state;
  function [31:0] next(input [31:0] c, input [7:0] d);
    integer i;
    reg [31:0] r;
    begin
      r = c ^ {24'd0, d};
      for (i = 0; i < 8; i = i + 1) r = r[0] ? (r >> 1) ^ 32'hedb88320 : r >> 1;
      next = r;
    end
  endfunction
  assign s_axis_tready = aresetn && !m_axis_tvalid;
  assign m_axis_tdata = ~state;
  assign m_axis_tlast = 1;
  always @(posedge aclk)
    if (!aresetn) begin
      state <= 32'hffffffff; m_axis_tvalid <= 0;
    end else if (s_axis_tvalid && s_axis_tready) begin
      state <= next(state, s_axis_tdata);
      m_axis_tvalid <= s_axis_tlast;
    end else if (m_axis_tready) m_axis_tvalid <= 0;
endmodule
