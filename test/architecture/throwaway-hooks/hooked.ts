import { Transform } from 'node:stream';
import Type from 'typebox';
import { errorTable } from '../../../src/lib/errors.ts';
import { bodyProblem } from '../../../src/lib/schema/decode-body.ts';
import { declared } from '../../../src/lib/settings/setting.ts';
import { integer } from '../../../src/lib/settings/setting-kinds.ts';
import type { Pass, Refusal } from '../../../src/modules/contract/decides.ts';
import type { ModuleRuntime, RuntimePorts } from '../../../src/modules/contract/keeps-state.ts';
import { defineModule, enabledField } from '../../../src/modules/contract/module.ts';
import type { PreparedModule } from '../../../src/modules/contract/prepared-module.ts';

const { rows } = errorTable({
  ERR_POSTERN_HOOKED: { status: 402, explanation: 'The hooked module refuses the request.' },
});
const KIND = 'hooked_note';
const PATH = '/.postern/hooked';
const RULE = { kind: KIND, id: 'note', parent: 'hooked', text: 'deny /refused' };
const PASS: Pass = { isPass: true, reason: 'open' };
const REFUSED: Refusal = {
  status: 402,
  code: 'ERR_POSTERN_HOOKED',
  message: 'Not this path.',
  reason: 'path',
  rule: RULE,
};

/** Uses every port once, and remembers what came of it. */
class HookedRuntime implements ModuleRuntime {
  readonly seen: Record<string, unknown> = {};
  readonly count: (value: string) => void;
  readonly #stop: () => void;

  constructor(ports: RuntimePorts, settings: { readonly hooked_bytes: number }) {
    const { seen } = this;
    this.count = ports.counter({ name: 'hooked_events_total', help: 'Things that happened.', label: 'event' });
    this.#stop = ports.timers.every(1, () => {
      seen['ticked'] = true;
    });
    seen['bytes'] = settings.hooked_bytes;
    seen['now'] = ports.clock.nowMs() > 0;
    seen['id'] = ports.newId('toy').startsWith('toy_');
    seen['random'] = ports.randomText(32).length;
    seen['opened'] = ports.open('hooked', ports.seal('hooked', 'text'));
    seen['mac'] = ports.mac('hooked', 'text').length;
    seen['configs'] = ports.ownConfigs('edghts_none').length;
    seen['may reach metadata'] = ports.network.isAddressAllowed('169.254.169.254', 80);
    ports.log.info({ hooked: true }, 'the hooked module is open');
  }

  static async open(ports: RuntimePorts, settings: { readonly hooked_bytes: number }): Promise<HookedRuntime> {
    const runtime = new HookedRuntime(ports, settings);
    const { seen } = runtime;
    const record = { id: 'note', doc: { text: 'a note' }, secret: { field: 'key', text: 'a secret' } };
    await ports.records.add(KIND, record);
    seen['records'] = ports.records.list(KIND);
    await ports.records.remove(KIND, 'note');
    seen['records left'] = ports.records.list(KIND).length;
    seen['foreign records'] = await Promise.resolve()
      .then(() => ports.records.list('api_key'))
      .then(
        () => 'readable',
        () => 'refused',
      );
    const fetch = ports.network.createFetch({ isAddressAllowed: () => true, isPlainHttpAllowed: () => true });
    seen['fetched'] = await fetch('http://169.254.169.254/').then(
      () => 'answered',
      () => 'refused',
    );
    await ports.timers.sleep(1);
    return runtime;
  }

  edgeChanged(): void {
    this.seen['edge changed'] = true;
  }

  close(): Promise<void> {
    this.#stop();
    return Promise.resolve();
  }
}

/** Uses every hook of the contract. `throwaway-module.test.ts` copies this folder into a copy of `src/modules`. */
export const hooked = defineModule({
  name: 'hooked',
  level: 'route',
  decidesAccess: true,
  title: 'Hooked module',
  description: 'Marks what passes.',
  config: Type.Object({
    enabled: enabledField,
    mark: Type.String({ default: '', maxLength: 20, description: 'Put at the end of every response.' }),
  }),
  example: { mark: '!' },
  errors: { title: 'Traffic: hooked', rows },
  settings: {
    hooked_bytes: declared(integer(1, 1000), { default: 10, description: 'How much of a body is read.' }),
  },
  recordKinds: [KIND],
  reservedHeaders: ['x-hooked-*'],
  reservedCookies: ['hooked'],
  ownPaths: [PATH],
  agent: {
    form: {
      order: 9,
      key: 'hooked',
      shape: 'map',
      protocols: ['https', 'http'],
      fields: [
        {
          name: 'mark',
          example: '"!"',
          isNeeded: true,
          flag: { name: 'hooked-mark', hint: 'TEXT', description: 'Put it at the end of every response.' },
        },
      ],
      summary: ['mark {mark}'],
    },
  },
  check: ({ mark }) => (mark === 'nothing' ? [bodyProblem('mark', 'must not be "nothing"')] : []),
  createRuntime: (ports, settings) => HookedRuntime.open(ports, settings),
  prepare: ({ mark }, ports) => {
    const { runtime, settings, place } = ports;
    if (mark === '') {
      return { ok: false, problem: { code: 'ERR_POSTERN_MODULE_UNAVAILABLE', message: 'the mark is missing' } };
    }
    ports.record('https_edge', place.edgeId);
    ports.children('https_edge_route', place.edgeId);
    return { ok: true, prepared: prepared(mark, settings.hooked_bytes, runtime) };
  },
});

function prepared(mark: string, maxBytes: number, runtime: HookedRuntime | null): PreparedModule {
  return {
    judge: ({ path }) => (path === '/refused' ? REFUSED : PASS),
    upstreamHeaders: () => STANDING,
    transformRequest: (_request, headers) => {
      runtime?.count('request');
      return {
        maxBytes,
        read: (body) => ({
          remove: ['x-unwanted'],
          set: ['x-hooked-body', String(body)],
          add: ['x-count', String(headers.length / 2)],
        }),
      };
    },
    transform: (_request, { headers }) => ({
      headers: [...headers, 'x-marked', mark],
      createStream: () => marking(mark),
      trailers: (trailers) => [...trailers, 'x-mark', mark],
    }),
    ownCookieNames: ['hooked-too'],
    ownPaths: {
      serve: async (request) => ({
        status: 200,
        headers: ['content-type', 'application/json'],
        body: JSON.stringify({ ...runtime?.seen, sent: String(await request.readBody(100)) }),
      }),
    },
  };
}

const STANDING = ['x-hooked-standing', '1'];

function marking(mark: string): Transform {
  return new Transform({
    transform: (chunk: Buffer, _encoding, done) => done(null, chunk),
    flush: (done) => done(null, mark),
  });
}
