import Type, { type Static } from 'typebox';
import { type AddressMatcher, cidrMatcher, cidrProblem, parseAddress } from '../../kit/net/cidr.ts';
import { rangeText } from '../../kit/net/range-text.ts';
import type { FieldProblem } from '../../kit/schema/field-problem.ts';
import type { Pass, Refusal } from '../contract/decides.ts';
import { defineModule, enabledField } from '../contract/module.ts';
import type { PreparedModule } from '../contract/prepared-module.ts';
import { maintenanceErrors } from './errors.ts';

const MAX_MESSAGE = 500;
const MAX_RANGES = 100;
const MAX_RETRY_AFTER = 7 * 86_400;

const maintenanceConfig = Type.Object({
  enabled: enabledField,
  message: Type.String({
    default: 'This site is being worked on. Please come back soon.',
    minLength: 1,
    maxLength: MAX_MESSAGE,
    description: `What visitors read: at most ${MAX_MESSAGE} characters.`,
  }),
  retry_after: Type.Integer({
    default: 600,
    minimum: 0,
    maximum: MAX_RETRY_AFTER,
    description:
      'Seconds after which programs should try again, in the header Retry-After. 0: without it. Default: 600.',
  }),
  allow_cidrs: Type.Array(Type.String({ maxLength: 64 }), {
    default: [],
    maxItems: MAX_RANGES,
    description: `Ranges of addresses that are let through, such as "203.0.113.7/32": at most ${MAX_RANGES}. The other modules of the route decide about them.`,
    examples: [['203.0.113.7/32']],
  }),
});

/** Pauses a site, except for those who work on it. */
export const maintenance = defineModule({
  name: 'maintenance',
  on: ['requests'],
  decidesAccess: true,
  readsPath: false,
  title: 'Maintenance module',
  description: 'Answers every request with 503 and a text, except those from listed addresses.',
  config: maintenanceConfig,
  example: { message: 'We are back at noon.', retry_after: 3600, allow_cidrs: ['203.0.113.7/32'] },
  check: ({ allow_cidrs: ranges }): readonly FieldProblem[] =>
    ranges.flatMap((range, at) => {
      const problem = cidrProblem(range);
      return problem === null ? [] : [{ path: `/allow_cidrs/${at}`, message: problem }];
    }),
  reasons: { let_through: 'The site is paused, and lets this address through.' },
  errors: { title: 'Traffic: maintenance', rows: maintenanceErrors.rows },
  prepare: (config) => ({ ok: true, prepared: pause(config) }),
});

function pause(config: Static<typeof maintenanceConfig>): Pick<PreparedModule, 'judge' | 'whyRefused'> {
  const matchers: readonly AddressMatcher[] = config.allow_cidrs.map(cidrMatcher);
  const pass: Pass = { isPass: true, reason: 'let_through' };
  const refusal: Refusal = {
    status: 503,
    code: 'ERR_POSTERN_MAINTENANCE',
    title: 'Under maintenance',
    message: config.message,
    reason: 'paused',
    ...(config.retry_after > 0 && { headers: ['retry-after', String(config.retry_after)] }),
  };
  return {
    judge: ({ clientAddress }) => {
      const address = matchers.length === 0 ? null : parseAddress(clientAddress);
      return address !== null && matchers.some((matches) => matches(address)) ? pass : refusal;
    },
    whyRefused: ({ clientAddress }) =>
      `The site is paused${config.allow_cidrs.length === 0 ? ', for everybody' : `. It lets in ${config.allow_cidrs.map(rangeText).join(', ')}, and the client comes from ${clientAddress}`}. Open the site again, or change whom its pause lets in.`,
  };
}
