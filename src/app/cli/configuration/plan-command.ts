import { isChanging } from '../../../control/configuration-file/plan/object-change.ts';
import { isOn } from '../../../kit/flags.ts';
import { openTransport, runWithApi } from '../api/api-access.ts';
import { type Command, type CommandContext, type CommandSyntax, INVALID_USAGE, parseCommand } from '../command.ts';
import { printable } from '../output/cell-text.ts';
import { outputFlag, outputFormat, printJson } from '../output/output-format.ts';
import { Progress, painterFor } from '../output/terminal.ts';
import { CONNECTION } from '../shared-flags.ts';
import {
  FILES,
  loadConfiguration,
  OWNER,
  PRUNE,
  pathsOf,
  printProblems,
  TAKE_OVER,
  withOwner,
} from './load-configuration.ts';
import { changesAsJson, type PreparedPlan, planLines, preparePlan, summaryText } from './prepare-plan.ts';
import { reportMoving } from './read-installation.ts';

const FORMATS = ['table', 'json'] as const;

const SYNTAX: CommandSyntax = {
  name: 'plan',
  usage: ['-f FILE|DIRECTORY…'],
  hasOperands: true,
  about:
    'Shows what "postern apply" would change: objects that are added (+), changed (~) field by field, replaced (±) or removed (-). The server checks the whole change and stores nothing. Secrets are not shown.',
  flags: [FILES, PRUNE, OWNER, TAKE_OVER, outputFlag(FORMATS)],
  groups: [CONNECTION],
  examples: ['postern plan -f postern-sites.yaml', 'postern plan -f sites/ --prune --owner team-web'],
  exitCodes: {
    0: 'nothing would change',
    1: 'failed',
    2: INVALID_USAGE,
    3: 'the configuration changed each time while it was read',
    4: 'something would change',
  },
};

const EXIT_FAILED = 1;
const EXIT_DIFFERENT = 4;

/** Shows how files differ from the server. */
export const planCommand: Command = {
  syntax: SYNTAX,
  run: (args, context) => {
    const parsed = parseCommand(SYNTAX, args);
    const paths = pathsOf(parsed, 'plan');
    const isJson = outputFormat(parsed.flags, FORMATS) === 'json';
    const run = async (): Promise<number> => {
      const found = await loadConfiguration(paths, context);
      if (found === null) return EXIT_FAILED;
      const loaded = withOwner(found, parsed);
      const isPruning = isOn(parsed, 'prune');
      if (isPruning && loaded.configuration.owner === null) return reportNoOwner(context);
      const transport = await openTransport(parsed, context);
      const isTakeOver = isOn(parsed, 'take-over');
      const prepared = await preparePlan(transport, { ...loaded, isPruning, isTakeOver }, new Progress(context));
      if ('moving' in prepared) return reportMoving(context);
      if ('problems' in prepared) {
        printProblems(prepared.problems, context);
        return EXIT_FAILED;
      }
      reportKept(prepared.plan, context);
      await printPlan(prepared.plan, isJson, context);
      return isChanging(prepared.plan.changes) ? EXIT_DIFFERENT : 0;
    };
    // Here code 3 means a conflict, and nothing else.
    return runWithApi(context, run, EXIT_FAILED);
  },
};

/** Pruning removes what the owner's files no longer have: without an owner that is unknown. */
export function reportNoOwner(context: CommandContext): number {
  context.warn('postern: --prune needs an owner: add "owner: NAME" to the file, or use --owner NAME');
  return EXIT_FAILED;
}

/** Secrets that the files name and nobody gave. */
export function reportKept({ kept }: PreparedPlan, context: CommandContext): void {
  for (const { file, line, problem } of kept)
    context.warn(printable(`${file}:${line}: ${problem}: the server keeps the secret that it has`));
}

export async function printPlan(plan: PreparedPlan, isJson: boolean, context: CommandContext): Promise<void> {
  if (isJson) {
    printJson(JSON.stringify({ revision: plan.revision, changes: changesAsJson(plan.changes) }), context);
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
