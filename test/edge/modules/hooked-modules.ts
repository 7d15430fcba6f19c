import Type from 'typebox';
import { defineModule, enabledField, type Module } from '../../../src/modules/contract/module.ts';
import type { PreparedModule } from '../../../src/modules/contract/prepared-module.ts';

type Hooks = Pick<PreparedModule, 'judge' | 'transformRequest' | 'transform'>;

/** Two modules whose hooks a test sets while the server runs: requests pass `first` and then `second`. */
export class HookedModules {
  first: Hooks = {};
  second: Hooks = {};

  get modules(): readonly Module[] {
    return [this.#module('first'), this.#module('second')];
  }

  reset(): void {
    this.first = {};
    this.second = {};
  }

  #module(name: 'first' | 'second'): Module {
    return defineModule({
      name,
      on: ['requests'],
      decidesAccess: true,
      readsPath: false,
      title: `The ${name} module`,
      description: 'For tests.',
      config: Type.Object({ enabled: enabledField }),
      example: {},
      prepare: () => ({
        ok: true,
        prepared: {
          judge: (request) => {
            const { judge } = this[name];
            return judge === undefined ? { isPass: true, reason: 'nothing' } : judge(request);
          },
          transformRequest: (request, headers) => this[name].transformRequest?.(request, headers) ?? null,
          transform: (request, head) => this[name].transform?.(request, head) ?? null,
        },
      }),
    });
  }
}
