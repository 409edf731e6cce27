/** Ends a run with one plain line of counts. */
export default class CountReporter {
  onTestRunEnd(modules) {
    let passed = 0
    let failed = 0
    let skipped = 0
    for (const module of modules) {
      if (module.errors().length > 0) failed++
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state === 'passed') passed++
        else if (state === 'failed') failed++
        else skipped++
      }
    }
    console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`)
  }
}
