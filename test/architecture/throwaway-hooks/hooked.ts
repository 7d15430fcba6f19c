import { Transform } from 'node:stream';
import Type from 'typebox';
import { errorTable } from '../../../src/kit/errors.ts';
import { bodyProblem } from '../../../src/kit/schema/decode-body.ts';
import { declared, duration, integer } from '../../../src/kit/settings/setting.ts';
import type { ConfiguredBy } from '../../../src/modules/contract/agent-form.ts';
import type { Answer, Pass, Refusal, TrafficRequest, Verdict } from '../../../src/modules/contract/decides.ts';
import { defineModule, enabledField } from '../../../src/modules/contract/module.ts';
import type { ChildTable } from '../../../src/modules/contract/prepare.ts';
import type { PreparedModule } from '../../../src/modules/contract/prepared-module.ts';
import { permitOf } from './hooked-login.ts';
import { hookedNotes } from './hooked-notes.ts';
import { hookedQuestions } from './hooked-question.ts';
import { HookedRuntime, MARK_KIND, NOTE_KIND } from './hooked-runtime.ts';

const { rows } = errorTable({
  ERR_POSTERN_HOOKED: { status: 402, explanation: 'The hooked module refuses the request.' },
});
const PATH = '/.postern/hooked';
const RULE = { kind: NOTE_KIND, id: 'note', parent: 'hooked', text: 'deny /refused' };
const PASS: Pass = { isPass: true, reason: 'open' };
const LATE: Pass = { isPass: true, reason: 'late' };
const REHEARSED: Pass = { isPass: true, reason: 'open', wouldRefuse: { reason: 'path', rule: 'deny[1]' } };
const REFUSED: Refusal = {
  status: 402,
  code: 'ERR_POSTERN_HOOKED',
  message: 'Not this path.',
  reason: 'path',
  rule: RULE,
};
const MOVED: Answer = {
  isAnswer: true,
  status: 307,
  location: 'https://elsewhere.example/',
  reason: 'moved',
  ruleText: 'move /moved',
};
const DENIED: Refusal = {
  status: 402,
  code: 'ERR_POSTERN_HOOKED',
  message: 'Not you.',
  reason: 'requester',
  accessRule: 'deny[0]',
};

/** How many routes an edge has. */
const routesOf: ChildTable<number> = {
  kind: 'https_edge_route',
  parentKind: 'https_edge',
  empty: 0,
  changed: (count, before, after) => count + (after === null ? 0 : 1) - (before === null ? 0 : 1),
};

let isPartLoaded = false;

/** Uses every hook of a route's module. `throwaway-module.test.ts` copies this folder into a copy of `src/modules`. */
export const hooked = defineModule({
  name: 'hooked',
  on: ['requests'],
  decidesAccess: true,
  readsPath: () => 'mark',
  title: 'Hooked module',
  description: 'Marks what passes.',
  config: Type.Object({
    enabled: enabledField,
    mark: Type.String({ default: '', maxLength: 20, description: 'Put at the end of every response.' }),
    backend_id: Type.String({ default: '', maxLength: 64, description: 'A backend in place of that of the route.' }),
  }),
  example: { mark: '!' },
  errors: { title: 'Traffic: hooked', rows },
  reasons: { open: 'It is open.', late: 'It is still open.' },
  otherDecisions: ['allow_while_open'],
  live: {
    schema: { place: Type.Optional(Type.String({ description: 'Where it is.' })) },
    read: (_config, { routeId }) => ({ place: routeId }),
  },
  events: [
    {
      type: 'hooked_seen.v0',
      description: 'The module has seen a request.',
      object: Type.Object({ path: Type.String({ description: 'Its path.' }) }),
    },
  ],
  watched: {
    isOn: ({ mark }, { routeId }, { memory }) => mark === '!' && routeId !== null && memory !== null,
    gauge: { name: 'hooked_shouts', help: 'Whether the mark of a route shouts.' },
    alert: {
      code: 'hooked_shouting',
      advice: 'use another mark',
      setting: 'hooked_alert',
      title: ({ route, node }) => `${route} shouts on ${node}`,
    },
  },
  judgesAgainAfter: 'compression',
  nodeMemory: {
    create: ({ hooked_bytes }) => new SharedArrayBuffer(hooked_bytes),
    threadEnded: (memory) => void new Uint8Array(memory).fill(0),
  },
  settings: {
    hooked_bytes: declared(integer(1, 1000), { default: 10, description: 'How much of a body is read.' }),
    hooked_alert: declared(duration('seconds', 0, 60), {
      group: 'Alerts',
      default: 0,
      description: 'How long a mark may shout.',
    }),
  },
  shared: [hookedNotes],
  childTables: [routesOf],
  recordKinds: [NOTE_KIND, MARK_KIND],
  followedKinds: ['https_edge'],
  reservedHeaders: ['x-hooked-*'],
  reservedCookies: ['hooked'],
  ownPaths: [PATH],
  secretPaths: [PATH],
  questions: hookedQuestions,
  agent: {
    form: {
      order: 9,
      group: 'entry',
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
    schema: Type.Object({ mark: Type.String({ default: '', maxLength: 20, description: 'As in the module.' }) }),
    accept: ({ mark = '' }, endpointId) =>
      endpointId === '' ? { problem: 'no endpoint' } : { config: { enabled: true, mark, backend_id: '' }, records: [] },
  },
  check: ({ mark }, { agentNetwork }) => {
    if (agentNetwork?.isAddressAllowed('169.254.169.254', 80) === true) return [bodyProblem('mark', 'reaches too far')];
    return mark === 'nothing' ? [bodyProblem('mark', 'must not be "nothing"')] : [];
  },
  load: () => {
    if (isPartLoaded) return null;
    return new Promise<void>((resolve) => setTimeout(resolve, 5)).then(() => {
      isPartLoaded = true;
    });
  },
  normalize: (config) => ({ ...config, mark: config.mark.toLowerCase() }),
  seal: (config, { stored, seed }) => {
    if (config.mark !== 'same' || seed !== null) return { config };
    return stored === null ? { problems: [bodyProblem('mark', 'has none to stay')] } : { config: stored };
  },
  createRuntime: (ports, settings) => HookedRuntime.open(ports, settings),
  askedClaims: () => [{ rule: 'mark', claims: ['email'] }],
  prepare: ({ mark, backend_id }, ports) => {
    if (!isPartLoaded) throw new Error('the part is not loaded');
    const { runtime, settings, place, configuredBy } = ports;
    if (mark === '') {
      return { ok: false, problem: { code: 'ERR_POSTERN_MODULE_UNAVAILABLE', message: 'the mark is missing' } };
    }
    ports.record('https_edge', place.edgeId);
    ports.askedClaims();
    ports.children('https_edge_route', place.edgeId);
    ports.addressLists.of('ipl_none', { file: 'none' });
    if (runtime !== null) runtime.seen['routes'] = ports.childTable(routesOf, place.edgeId);
    const hooks = prepared({ mark, maxBytes: settings.hooked_bytes, configuredBy }, runtime);
    return { ok: true, prepared: backend_id === '' ? hooks : { ...hooks, backendId: backend_id } };
  },
});

interface Marking {
  readonly mark: string;
  readonly maxBytes: number;
  readonly configuredBy: ConfiguredBy;
}

function prepared({ mark, maxBytes, configuredBy }: Marking, runtime: HookedRuntime | null): PreparedModule {
  return {
    identify: (request) => {
      if (request.header('x-token') === 'robot') request.permit = permitOf('hooked', 'workload', 'robot');
      return PASS;
    },
    judge,
    admit: (request) => {
      runtime?.count('admitted');
      return judge(request);
    },
    whyRefused: ({ clientAddress }) => `refused ${clientAddress}`,
    later: {
      judge: ({ path }) => (path === '/late' ? REFUSED : LATE),
    },
    upstreamHeaders: () => STANDING,
    transformRequest: (request, headers) => {
      runtime?.count('request');
      const { permit, isExemptFromLogin } = request;
      return {
        maxBytes,
        whenLonger: request.path === '/long' ? 'forward' : 'refuse',
        read: (body) => ({
          remove: ['x-unwanted'],
          set: ['x-hooked-body', String(body), 'x-hooked-who', isExemptFromLogin ? 'exempt' : (permit?.userId ?? '')],
          add: ['x-count', String(headers.length / 2)],
          host: 'inner.example',
          target: '/inner?x=1',
        }),
      };
    },
    transform: (_request, { headers, bodyBytes, fixedBody }) => ({
      headers: [
        ...headers,
        ...['x-marked', mark, 'x-configured-by', configuredBy],
        ...['x-known-length', String(bodyBytes), 'x-fixed-length', String(fixedBody?.length)],
      ],
      createStream: () => marking(mark),
      whole: (body) => Buffer.concat([body, Buffer.from(mark)]),
      trailers: (trailers) => [...trailers, 'x-mark', mark],
    }),
    informational: (headers) => [...headers, 'x-marked', mark],
    settled: (request, outcome) => runtime?.settled(request.path, outcome),
    ownCookieNames: ['hooked-too'],
    ownPaths: {
      serve: async (request, site) => {
        const here = site.moduleFor('/');
        return {
          status: 200,
          headers: ['content-type', 'application/json'],
          body: JSON.stringify({
            ...runtime?.seen,
            sent: String(await request.readBody(100)),
            modules: [site.modules.length, 'found' in here && here.found === site.modules[0]],
            notes: [runtime?.notes.areModulesOpen, runtime?.notes.logins, runtime?.notes.limit, runtime?.notes.about],
          }),
        };
      },
    },
  };
}

function judge({ path, permit }: TrafficRequest): Verdict {
  if (permit?.identity.email === 'eve') return DENIED;
  if (path === '/rehearsed') return REHEARSED;
  if (path === '/moved') return MOVED;
  return path === '/refused' ? REFUSED : PASS;
}

const STANDING = ['x-hooked-standing', '1'];

function marking(mark: string): Transform {
  return new Transform({
    transform: (chunk: Buffer, _encoding, done) => done(null, chunk),
    flush: (done) => done(null, mark),
  });
}
