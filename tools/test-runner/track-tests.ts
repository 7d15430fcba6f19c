import asyncHooks, { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';

/**
 * Loads node:test so that it finds the test that code belongs to in the context that V8 carries from callback to
 * callback. By itself, it has Node report each promise that is created and collected, which costs CPU and garbage.
 * Nothing may have imported node:test before.
 */
export async function trackTestsByContext(): Promise<void> {
  const running = new AsyncLocalStorage<AsyncResource>();
  let notices: asyncHooks.HookCallbacks | undefined;

  class TestResource extends AsyncResource {
    constructor(type: string, options?: number | asyncHooks.AsyncResourceOptions) {
      super(type, options);
      notices?.init?.(this.asyncId(), type, this.triggerAsyncId(), this);
    }

    override runInAsyncScope<This, Result>(
      run: (this: This, ...args: never[]) => Result,
      thisArg?: This,
      ...args: never[]
    ): Result {
      return super.runInAsyncScope(() => running.run(this, () => Reflect.apply(run, thisArg, args) as Result));
    }
  }

  const { createHook, executionAsyncId } = asyncHooks;
  const own = {
    AsyncResource: TestResource,
    createHook: (callbacks: asyncHooks.HookCallbacks) => {
      notices = callbacks;
      return { enable: () => undefined, disable: () => undefined };
    },
    executionAsyncId: () => running.getStore()?.asyncId() ?? executionAsyncId(),
  };
  const taken = new Set<string>();
  for (const [name, value] of Object.entries(own)) {
    const get = () => {
      taken.add(name);
      return value;
    };
    Object.defineProperty(asyncHooks, name, { get, configurable: true });
  }
  await import('node:test');
  for (const [name, value] of Object.entries({ AsyncResource, createHook, executionAsyncId })) {
    Object.defineProperty(asyncHooks, name, { value, configurable: true, enumerable: true, writable: true });
    if (!taken.has(name))
      throw new Error(`node:test was loaded before, or does without ${name}: look at its harness.js`);
  }
}
