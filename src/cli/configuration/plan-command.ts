import { isChanging } from '../../configuration-file/plan/settle-plan.ts';
import { CONNECTION_FLAGS, openTransport } from '../api/open-transport.ts';
import type { Command, CommandContext } from '../command.ts';
import { painterFor } from '../output/color.ts';
import { OUTPUT_FLAGS, outputFormat } from '../output/output-format.ts';
import { FILE_FLAGS, pathsOf } from './file-flags.ts';
import { loadConfiguration } from './load-configuration.ts';
import { changesAsJson, planLines, summaryText } from './plan-lines.ts';
import { type PreparedPlan, preparePlan } from './prepare-plan.ts';
import { printProblems } from './print-problems.ts';
import { Progress } from './progress.ts';
import { parseRepeatedFlags } from './repeated-flags.ts';
import { reportMoving } from './report-moving.ts';
import { runWithServer } from './run-with-server.ts';

const HELP = `
Usage: postern plan -f FILE|DIRECTORY... [FLAGS]

Shows what "postern apply" would change: objects that are added (+), changed (~) field by field, replaced (±) or removed (-).
The server checks the whole change and stores nothing. Secrets are not shown.

  --file              file or directory; can be repeated, - reads standard input; -f for short
  --prune             also remove what an earlier apply of the same owner had and the files no longer have
  --take-over         accept objects that the files of another owner have
  --output            table or json (default table); -o for short
  --api-url           address of the API (default POSTERN_CLI_API_URL, POSTERN_API_URL, then http://127.0.0.1:7080)
  --api-key-file      file with the API key, - reads standard input (default POSTERN_CLI_API_KEY, POSTERN_API_KEY, then
                      first-api-key in the data directory)
  --root-ca           PEM file with the CA of the API's certificate

Exit codes: 0 nothing would change, 4 something would change, 1 failed, 2 invalid usage, 3 the configuration changed each
time while it was read.
`;

const EXIT_FAILED = 1;
const EXIT_DIFFERENT = 4;

/** Shows how files differ from the server. */
export const planCommand: Command = {
  help: HELP,
  run: (args, context) => {
    const known = new Map([
      ...CONNECTION_FLAGS,
      ...OUTPUT_FLAGS,
      ['prune', 'switch'],
      ['take-over', 'switch'],
    ] as const);
    const parsed = parseRepeatedFlags(args, known, ...FILE_FLAGS);
    const paths = pathsOf(parsed, 'plan');
    const isJson = outputFormat(parsed.flags, ['table', 'json']) === 'json';
    return runWithServer(context, async () => {
      const loaded = await loadConfiguration(paths, context);
      if (loaded === null) return EXIT_FAILED;
      const isPruning = parsed.flags.get('prune') === 'true';
      if (isPruning && loaded.configuration.owner === null) return reportNoOwner(context);
      const transport = await openTransport(parsed, context);
      const isTakeOver = parsed.flags.get('take-over') === 'true';
      const prepared = await preparePlan(transport, { ...loaded, isPruning, isTakeOver }, new Progress(context));
      if ('moving' in prepared) return reportMoving(context);
      if ('problems' in prepared) {
        printProblems(prepared.problems, context);
        return EXIT_FAILED;
      }
      await printPlan(prepared.plan, isJson, context);
      return isChanging(prepared.plan.changes) ? EXIT_DIFFERENT : 0;
    });
  },
};

/** Pruning removes what the owner's files no longer have: without an owner that is unknown. */
export function reportNoOwner(context: CommandContext): number {
  context.warn('postern: --prune needs an owner: add "owner: NAME" to the file');
  return EXIT_FAILED;
}

export async function printPlan(plan: PreparedPlan, isJson: boolean, context: CommandContext): Promise<void> {
  if (isJson) {
    context.print(JSON.stringify({ revision: plan.revision, changes: changesAsJson(plan.changes) }));
    return;
  }
  for (const line of planLines(plan.changes, painterFor(context))) {
    context.print(line);
    await context.printed?.();
  }
  if (plan.changes.length === 0)
    context.print(
      plan.isEmpty ? 'nothing would change' : 'nothing would change, except that the server remembers the owner',
    );
  else if (!isChanging(plan.changes)) context.print('nothing would change, as far as this key can compare secrets');
  else context.print(summaryText(plan.changes));
}
