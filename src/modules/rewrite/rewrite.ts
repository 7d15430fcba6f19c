import Type from 'typebox';
import { loadPatternEngine } from '../../lib/text/linear-pattern.ts';
import { defineModule, enabledField } from '../contract/module.ts';
import { ruleProblems } from '../path_rules/check-rules.ts';
import { firstRule, rulesField } from '../path_rules/path-rule.ts';
import { ruleAgent } from '../path_rules/rule-agent.ts';
import { rewriteErrors } from './errors.ts';
import { rewritePaths } from './rewrite-paths.ts';

/** Changes the path that the upstream gets. */
export const rewrite = defineModule({
  name: 'rewrite',
  level: 'route',
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
