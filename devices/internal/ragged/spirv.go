package ragged

import "encoding/binary"

// SPIRV reads what a SPIR-V module uses from its decorations: its
// built-in variables, barriers and pointers to local memory.
func SPIRV(module []byte) Usage {
	const magic, headerWords = 0x07230203, 5
	order := binary.ByteOrder(binary.LittleEndian)
	if len(module) >= 4 && order.Uint32(module) != magic {
		order = binary.BigEndian
	}
	if len(module) < 4*headerWords || order.Uint32(module) != magic {
		return All
	}
	word := func(i int) uint32 { return order.Uint32(module[4*i:]) }
	words := len(module) / 4
	var u Usage
	for i := headerWords; i < words; {
		op, n := word(i)&0xFFFF, int(word(i)>>16)
		if n == 0 || i+n > words {
			return All
		}
		const decorate, typePointer, controlBarrier, builtIn, workgroup = 71, 32, 224, 11, 4
		switch {
		case op == decorate && n >= 4 && word(i+2) == builtIn:
			switch word(i + 3) {
			case 24, 26: // NumWorkgroups, WorkgroupId
				u |= GroupID
			case 25, 27, 29: // WorkgroupSize, LocalInvocationId, LocalInvocationIndex
				u |= Groups
			case 31: // GlobalSize
				u |= Size
			case 32: // EnqueuedWorkgroupSize
				u |= Enqueued
			case 33: // GlobalOffset
				u |= Offset
			case 34: // GlobalLinearId
				u |= Linear
			case 36, 37, 38, 39, 40, 41: // the sub-group's
				u |= Groups
			}
		case op == typePointer && n >= 3 && word(i+2) == workgroup, op == controlBarrier:
			u |= Groups
		}
		i += n
	}
	return u
}
