import type { Check } from './check.ts';
import { findingMaker } from './finding.ts';

const MAX_NAME = 60;
const ADVICE = 'correct it on the machine of the agent: its log says when the problem is over';

const found = findingMaker('agents');

/** What agents report about their machines, such as containers whose labels they reject. */
export const agents: Check = {
  name: 'agents',
  nouns: ['tunnel_sessions'],
  *run({ tunnel_sessions: all }) {
    for (const { id, ip, metadata, problems } of all) {
      const name = metadata === '' ? ip : `${onOneLine(metadata).slice(0, MAX_NAME)} (${ip})`;
      for (const problem of problems) yield found.warning(`agent ${name}: ${onOneLine(problem)}`, ADVICE, { id });
    }
  },
};

/** A stranger wrote the text. */
function onOneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').trim();
}
