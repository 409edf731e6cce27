// Loaded into the measured process: writes its event-loop delay to a file when told by a signal, and begins anew.
const { monitorEventLoopDelay } = require('node:perf_hooks')
const { writeFileSync } = require('node:fs')
const file = process.env.BENCH_LOOP_DELAY
if (file && process.argv.includes('--ready-fd=3')) {
  const delay = monitorEventLoopDelay({ resolution: 2 })
  delay.enable()
  process.on('SIGUSR2', () => {
    writeFileSync(`${file}.tmp`, JSON.stringify({ p50: delay.percentile(50) / 1e6, p99: delay.percentile(99) / 1e6, max: delay.max / 1e6 }))
    require('node:fs').renameSync(`${file}.tmp`, file)
    delay.reset()
  })
}
