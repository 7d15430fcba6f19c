import type { RequestTransform } from '../contract/changes-requests.ts';
import type { Refusal } from '../contract/decides.ts';
import type { PreparedModule } from '../contract/prepared-module.ts';
import type { TrafficRequest } from '../contract/traffic-request.ts';
import type { PathRule } from '../path_rules/path-rule.ts';
import { PathRules } from '../path_rules/path-rules.ts';

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
export function rewritePaths(rules: readonly PathRule[]): Pick<PreparedModule, 'transformRequest'> {
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
