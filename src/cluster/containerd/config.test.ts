import { expect, test } from 'vitest'
import { cniConfig, lastAddresses, RESERVED_ADDRESSES } from './config.ts'

const range = (podCIDR: string) => JSON.parse(cniConfig('/x', podCIDR, 'br')).plugins[0].ipam.ranges[0][0]

test('the Pod network and the Pods of this process share a range and no address', () => {
  expect(lastAddresses('10.244.0.0/24', RESERVED_ADDRESSES)).toEqual(Array.from({ length: 15 }, (_, i) => `10.244.0.${240 + i}`))
  expect(range('10.244.0.0/24')).toEqual({ subnet: '10.244.0.0/24', rangeEnd: '10.244.0.239' })
  expect(range('10.244.252.0/22')).toEqual({ subnet: '10.244.252.0/22', rangeEnd: '10.244.255.239' })
  expect(range('10.244.0.0/28')).toEqual({ subnet: '10.244.0.0/28' })
  expect(range('fd00::/64')).toEqual({ subnet: 'fd00::/64' })
})
