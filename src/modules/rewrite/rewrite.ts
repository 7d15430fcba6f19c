import Type from 'typebox';
import { loadPatternEngine } from '../../kit/text/linear-pattern.ts';
import type { Refusal, TrafficRequest } from '../contract/decides.ts';
import { defineModule, enabledField } from '../contract/module.ts';
import type { PreparedModule, RequestTransform } from '../contract/prepared-module.ts';
import { firstRule, type PathRule, PathRules, ruleAgent, ruleProblems, rulesField } from '../path_rules/path-rules.ts';
import { rewriteErrors } from './errors.ts';

const PREFIX_HEADER = 'x-forwarded-prefix';

/** The visitor may have sent one, also in trailers. */
const WITHOUT_PREFIX: RequestTransform = { remove: [PREFIX_HEADER] };

const REFUSED: Refusal = {
  status: 400,
  code: 'ERR_POSTERN_REWRITE_REFUSED',
  message: 'This address leads to a path that this site does not forward. Check its spelling.',
  reason: 'result',
};

/** The first rule that matches changes the path. The edge checks what it leads to. */
function rewritePaths(rules: readonly PathRule[]): Pick<PreparedModule, 'transformRequest'> {
  const compiled = new PathRules(rules, false);
  return {
    transformRequest: (request: TrafficRequest): RequestTransform => {
      const found = compiled.find(request);
      if (found === null) return WITHOUT_PREFIX;
      if (!found.isValid) return { refusal: REFUSED };
      const { path, target } = found;
      const prefix = request.path.endsWith(path) ? request.path.slice(0, -path.length) : '';
      return { target, remove: [PREFIX_HEADER], ...(prefix !== '' && { set: [PREFIX_HEADER, prefix] }) };
    },
  };
}

/** Changes the path that the upstream gets. */
export const rewrite = defineModule({
  name: 'rewrite',
  on: ['requests'],
  decidesAccess: false,
  readsPath: ({ rules }) => firstRule(rules),
  title: 'Rewrite module',
  description: 'Changes the paths of requests before they reach the upstream. The visitor sees no change.',
  config: Type.Object({
    enabled: enabledField,
    rules: rulesField('Rules for paths', 'The path that the upstream gets, such as "/".', {}),
  }),
  example: { rules: [{ match_type: 'path_prefix', match: '/api/', to: '/' }] },
  load: ({ rules }) => (rules.some(({ match_type: type }) => type === 'regex') ? loadPatternEngine() : null),
  check: ({ rules }) => ruleProblems(rules, false),
  agent: ruleAgent({
    name: 'rewrite',
    order: 10,
    usage: 'TYPE MATCH TO',
    example: 'path_prefix /api/ /',
    what: 'Change the path for your service',
    fields: (others) => (others.length > 0 ? 'a rule has three words' : {}),
  }),
  errors: { title: 'Traffic: rewritten paths', rows: rewriteErrors.rows },
  prepare: ({ rules }) => ({ ok: true, prepared: rewritePaths(rules) }),
});
