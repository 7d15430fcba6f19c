import { defineModule } from '../module.ts';
import type { Preparation, PreparePorts } from '../prepared-module.ts';
import { type AccessConfig, accessConfig } from './access-config.ts';
import { AccessOnRoute } from './access-on-route.ts';
import { AccessRuntime } from './access-runtime.ts';
import { checkAccess } from './check-access.ts';
import { accessErrors } from './errors.ts';
import type { Recognizer } from './recognizer.ts';
import { compileRules } from './rules.ts';

/** Decides which of the people, programs and guests that are known on a route may enter it. */
export const access = defineModule({
  name: 'access',
  level: 'route',
  decidesAccess: true,
  title: 'Access module',
  description:
    'Admits a known requester if an allow rule or a bearer entry matches and no deny rule does. People become known by the login module of the route.',
  config: accessConfig,
  example: {
    allow: [{ email_domains: ['example.com'] }, { claims: { groups: ['ops', 'admin'] } }],
    deny: [{ emails: ['former@example.com'] }],
  },
  check: checkAccess,
  prepare,
  errors: { title: 'Traffic: access rules', rows: accessErrors.rows },
  createRuntime: (ports) => AccessRuntime.open(ports),
});

function prepare(config: AccessConfig, { runtime }: PreparePorts): Preparation {
  const count = runtime instanceof AccessRuntime ? runtime.count : () => {};
  const evaluate = compileRules(config);
  return {
    ok: true,
    prepared: new AccessOnRoute({ evaluate, isEnforced: config.enforce, recognizers: recognizers(), count }),
  };
}

/** Who is recognized without a login, in the order in which they are asked. */
function recognizers(): readonly Recognizer[] {
  return [];
}
