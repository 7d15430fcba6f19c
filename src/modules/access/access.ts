import { routeRecordKinds } from '../../edges/record-kinds.ts';
import { fieldName } from '../../kit/schema/field-problem.ts';
import { defineModule } from '../contract/module.ts';
import type { Preparation, PreparePorts } from '../contract/prepare.ts';
import { GUEST_LINK_USE_KIND, GUEST_PATH } from '../guest-link-records.ts';
import { login } from '../login/login.ts';
import { ACCOUNT_KIND, TOKEN_KIND, TOKEN_USE_KIND } from '../service-account-records.ts';
import { type AccessConfig, accessConfig, addressClaimProblems, askedClaims, checkAccess } from './access-config.ts';
import { AccessOnRoute } from './access-on-route.ts';
import { AccessRuntime } from './access-runtime.ts';
import { accessAgentForm, accessAgentSchema, agentRules } from './agent-form.ts';
import { accessErrors } from './errors.ts';
import { GUEST_LINK_KIND, GuestRecognizer } from './guests/guests.ts';
import { ProgramsOnRoute } from './programs/programs-on-route.ts';
import { reviewAccess, testAccess } from './questions.ts';
import type { Recognizer } from './recognizer.ts';
import { compileRules } from './rules.ts';

/** Decides which of the people, programs and guests that are known on a route may enter it. */
export const access = defineModule({
  name: 'access',
  on: ['requests'],
  decidesAccess: true,
  readsPath: false,
  title: 'Access module',
  description:
    'Admits a known requester if an allow rule or a bearer entry matches and no deny rule does. People become known by the login module of the route.',
  config: accessConfig,
  example: {
    allow: [{ email_domains: ['example.com'] }, { claims: { groups: ['ops', 'admin'] } }],
    deny: [{ emails: ['former@example.com'] }],
  },
  check: checkAccess,
  askedClaims: (config) => askedClaims(config as unknown as AccessConfig),
  agent: { form: accessAgentForm, schema: accessAgentSchema, accept: agentRules },
  questions: [testAccess, ...reviewAccess],
  prepare,
  reasons: {
    allowed: 'The rules let the requester in.',
    token: 'A bearer token identifies a program.',
    guest: 'A guest link identifies the requester.',
    nobody_recognized: 'No token and no guest link identifies the requester.',
    options_passthrough: 'The login module admits OPTIONS requests without a login.',
  },
  errors: { title: 'Traffic: access rules', rows: accessErrors.rows },
  shared: [login],
  ownPaths: [GUEST_PATH],
  secretPaths: [GUEST_PATH],
  recordKinds: [TOKEN_USE_KIND, GUEST_LINK_USE_KIND],
  followedKinds: [ACCOUNT_KIND, TOKEN_KIND, GUEST_LINK_KIND, ...routeRecordKinds],
  createRuntime: (ports) => AccessRuntime.open(ports),
});

function prepare(config: AccessConfig, ports: PreparePorts<AccessRuntime>): Preparation {
  const [problem] = addressClaimProblems(config);
  if (problem !== undefined) {
    const message = `its ${fieldName(problem.path)} ${problem.message}`;
    return { ok: false, problem: { code: 'ERR_POSTERN_MODULE_UNAVAILABLE', message } };
  }
  const { runtime } = ports;
  return {
    ok: true,
    prepared: new AccessOnRoute({
      evaluate: compileRules(config),
      isEnforced: config.enforce,
      // No traffic is served without a runtime, so nobody is recognized.
      recognizers: runtime === null ? [] : recognizers(runtime, config, ports),
      count: runtime === null ? () => {} : runtime.count,
      routeId: ports.place.routeId,
      runtime,
    }),
  };
}

/** Who is recognized without a login, in the order in which they are asked. */
function recognizers(
  { programs, guests }: AccessRuntime,
  config: AccessConfig,
  { configuredBy, place: { edgeId, routeId } }: PreparePorts,
): readonly Recognizer[] {
  return [
    new ProgramsOnRoute(programs, config, configuredBy),
    ...(routeId === null ? [] : [new GuestRecognizer(guests, { edgeId, routeId })]),
  ];
}
