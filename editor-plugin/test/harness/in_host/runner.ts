/** A test runner small enough for an extension host: tests in a row, each reported on one line of the console. */

export type Test = readonly [name: string, body: () => Promise<void>];

const tests: Test[] = [];

/** Add a test. */
export function test(name: string, body: () => Promise<void>): void {
  tests.push([name, body]);
}

/** Run all tests whose name contains what the settings ask for; throws if one failed. */
export async function runAll(only: string, before: () => Promise<void>): Promise<void> {
  let failed = 0;
  for (const [name, body] of tests.filter(([name]) => name.includes(only))) {
    try {
      await before();
      await body();
      console.log(`TEST| ok | ${name}`);
    } catch (error) {
      failed++;
      console.log(`TEST| failed | ${name} | ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    }
  }
  if (failed > 0) {
    throw new Error(`${failed} failed`);
  }
}

export function equal<T>(actual: T, expected: T, what = 'value'): void {
  if (JSON.stringify(actual) !== JSON.stringify(expected)) {
    throw new Error(`${what}: ${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`);
  }
}

export function ok(condition: boolean, what: string): asserts condition {
  if (!condition) {
    throw new Error(what);
  }
}

/** Wait until something holds. The time is a deadline for what must come, not a measure. */
export async function until(what: string, condition: () => boolean | Promise<boolean>, seconds = 60): Promise<void> {
  const end = Date.now() + seconds * 1000;
  while (!(await condition())) {
    if (Date.now() > end) {
      throw new Error(`not within ${seconds} s: ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
