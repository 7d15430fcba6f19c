import Type from 'typebox';
import type { Identity, Pass, Permit, Refusal, TrafficRequest } from '../../../src/modules/contract/decides.ts';
import type { ModuleRuntime } from '../../../src/modules/contract/keeps-state.ts';
import { defineModule, enabledField } from '../../../src/modules/contract/module.ts';
import type { PreparedModule } from '../../../src/modules/contract/prepared-module.ts';
import { type HookedNotes, hookedNotes } from './hooked-notes.ts';

const KNOWN: Pass = { isPass: true, reason: 'known' };
const EXEMPT: Pass = { isPass: true, reason: 'options' };
const UNKNOWN: Refusal = {
  status: 401,
  code: 'ERR_POSTERN_NOTES',
  title: 'Who are you?',
  message: 'Send your name.',
  reason: 'no_name',
  headers: ['www-authenticate', 'Name'],
  details: { header: 'x-person' },
  action: { label: 'Start', href: '/' },
};

interface LoginRuntime extends ModuleRuntime {
  readonly notes: HookedNotes;
}

/** Logs people in by a header that they choose: never do that. */
export const hookedLogin = defineModule({
  name: 'hooked_login',
  on: ['requests'],
  decidesAccess: true,
  readsPath: false,
  isLogin: true,
  learnsFrom: (_config, { edgeId, settings, asked }) => ({
    ...{ issuer: `https://${edgeId}`, clientId: Object.keys(settings).join(), isDiscovered: false },
    scopes: asked.flatMap(({ rule, claims }) => [rule, ...claims]),
    scopesFor: (claim) => [claim],
  }),
  title: 'Hooked login module',
  description: 'Believes everybody.',
  config: Type.Object({ enabled: enabledField }),
  example: {},
  reasons: { known: 'The notes know the name.' },
  shared: [hookedNotes],
  createRuntime: (ports) =>
    Promise.resolve<LoginRuntime>({ notes: ports.shared(hookedNotes), close: () => Promise.resolve() }),
  prepare: (_config, { runtime }) => ({ ok: true, prepared: login(runtime) }),
});

function login(runtime: LoginRuntime | null): PreparedModule {
  const admit = (request: TrafficRequest, email: string): Pass => {
    request.permit = permitOf('hooked_login', 'user', email);
    return KNOWN;
  };
  return {
    judge: (request) => {
      if (request.permit !== null && request.permit.identity.kind !== 'user') return KNOWN;
      if (request.method === 'OPTIONS') {
        request.isExemptFromLogin = true;
        return EXEMPT;
      }
      const name = request.header('x-person');
      return name === undefined || runtime === null ? UNKNOWN : admit(request, name);
    },
    assume: (request, { email, claims }) => (claims['unknown'] === true ? UNKNOWN : admit(request, email)),
  };
}

export function permitOf(module: string, kind: Identity['kind'], id: string): Permit {
  return {
    module,
    userId: id,
    identity: { kind, id, email: id, isEmailVerified: true, name: '', claims: {}, droppedClaims: [] },
    version: 1,
    isHeld: () => true,
    touch: () => {},
  };
}
