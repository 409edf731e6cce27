import { describe, expect, it } from 'vitest'
import { intValue, scaledValue } from './intstr.ts'

describe('scaledValue', () => {
  it('takes percentages of the total and rounds as told', () => {
    expect(scaledValue('25%', 10, true)).toBe(3)
    expect(scaledValue('25%', 10, false)).toBe(2)
    expect(scaledValue(7, 10, false)).toBe(7)
    expect(() => scaledValue('7', 10, false)).toThrow('invalid value for IntOrString: invalid type: string is not a percentage')
    expect(intValue('80')).toBe(80)
    expect(intValue('http')).toBe(0)
  })
})
