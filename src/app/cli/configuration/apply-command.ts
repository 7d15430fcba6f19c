import { PosternApiError, PosternConnectionError } from '../../../client/call-errors.ts';
import type { Transport } from '../../../client/transport.ts';
import { isOn, type ParsedFlags, usage } from '../../../kit/flags.ts';
import { openTransport, runWithApi } from '../api/api-access.ts';
import { type Command, type CommandContext, type CommandSyntax, INVALID_USAGE, parseCommand } from '../command.ts';
import { Progress } from '../output/terminal.ts';
import { CONNECTION, durationFlag, isAgreed, MESSAGE, textFlag, YES } from '../shared-flags.ts';
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
import { printPlan, reportKept, reportNoOwner } from './plan-command.ts';
import {
  CHANGESET_TIMEOUT_MS,
  CONFLICTS,
  changesAsJson,
  operationHint,
  type PlanRequest,
  type PreparedPlan,
  preparePlan,
  summaryText,
} from './prepare-plan.ts';
import { reportMoving } from './read-installation.ts';

const SYNTAX: CommandSyntax = {
  name: 'apply',
  usage: ['-f FILE|DIRECTORY…'],
  hasOperands: true,
  about:
    'Makes the server match the files, in one change, as "postern plan" shows it: everything is applied, or nothing. Objects that the files do not have stay, unless --prune removes them. Applying the same files again changes nothing.',
  flags: [
    FILES,
    YES,
    PRUNE,
    OWNER,
    TAKE_OVER,
    MESSAGE,
    textFlag(
      'confirm-within',
      'DURATION',
      'The server takes the change back unless "postern confirm" comes within this time, from 1s to 24h: 90s, 5m, 1h30m.',
    ),
  ],
  groups: [CONNECTION],
  examples: [
    'postern apply -f postern-sites.yaml',
    'postern apply -f sites/ --prune --owner team-web --yes',
    'postern apply -f postern-sites.yaml --confirm-within 5m',
  ],
  exitCodes: {
    0: 'applied, or there was nothing to do',
    1: 'failed or answered with no',
    2: INVALID_USAGE,
    3: 'somebody else changed the configuration: look at the new plan',
  },
};

const EXIT_FAILED = 1;
const EXIT_CONFLICT = 3;
const MAX_ATTEMPTS = 5;
const MAX_OPERATIONS = 50_000;
const CONFIRM_WITHIN = { unit: 'seconds', minimum: 1, maximum: 86_400 } as const;

/** Makes the server match the files. */
export const applyCommand: Command = {
  syntax: SYNTAX,
  run: (args, context) => {
    const parsed = parseCommand(SYNTAX, args);
    const paths = pathsOf(parsed, 'apply');
    const within = parsed.flags.get('confirm-within');
    if (within !== undefined) durationFlag('confirm-within', within, CONFIRM_WITHIN);
    if (!isOn(parsed, 'yes') && context.ask === undefined) {
      throw usage('postern apply asks before it changes anything, and there is no terminal: add --yes');
    }
    const run = async (): Promise<number> => {
      const found = await loadConfiguration(paths, context);
      if (found === null) return EXIT_FAILED;
      const loaded = withOwner(found, parsed);
      const isPruning = isOn(parsed, 'prune');
      if (isPruning && loaded.configuration.owner === null) return reportNoOwner(context);
      const transport = await openTransport(parsed, context);
      return apply(transport, { ...loaded, isPruning, isTakeOver: isOn(parsed, 'take-over') }, parsed, context);
    };
    // Here code 3 means a conflict, and nothing else.
    return runWithApi(context, run, EXIT_FAILED);
  },
};

async function apply(
  transport: Transport,
  request: PlanRequest,
  parsed: ParsedFlags,
  context: CommandContext,
): Promise<number> {
  const progress = new Progress(context);
  let agreed: PreparedPlan | null = null;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const prepared = await preparePlan(transport, request, progress);
    if ('moving' in prepared) return reportMoving(context);
    if ('problems' in prepared) {
      printProblems(prepared.problems, context);
      return EXIT_FAILED;
    }
    const { plan } = prepared;
    if (plan.operations.length > MAX_OPERATIONS) return reportTooMany(plan, context);
    if (agreed !== null && !isSameDifference(plan, agreed)) {
      return reportConflict('somebody else changed the configuration, and the difference is another one now', context);
    }
    if (agreed === null) {
      reportKept(plan, context);
      if (plan.changes.length > 0) await printPlan(plan, false, context);
      if (plan.isEmpty) {
        context.print('nothing to do');
        return 0;
      }
      if (plan.changes.length > 0 && !(await isAgreed(parsed, context, 'Apply it?'))) {
        context.warn('postern: nothing was changed');
        return EXIT_FAILED;
      }
      agreed = plan;
    }
    progress.report(`applying ${plan.operations.length} operations`);
    const revision = await send(transport, plan, parsed, context);
    if (revision === null) continue;
    const summary = summaryText(plan.changes);
    context.print(`applied${summary === '' ? '' : `: ${summary}`} (revision ${revision})`);
    const within = parsed.flags.get('confirm-within');
    if (within !== undefined) context.print(`the server reverts it unless "postern confirm" runs within ${within}`);
    return 0;
  }
  return reportConflict('others kept changing the configuration', context);
}

/** The new revision; null when the revision moved. */
async function send(
  transport: Transport,
  plan: PreparedPlan,
  { flags }: ParsedFlags,
  context: CommandContext,
): Promise<number | null> {
  const [message, within] = [flags.get('message'), flags.get('confirm-within')];
  const body = {
    ...plan.changeset,
    ...(message !== undefined && { message }),
    ...(within !== undefined && { confirm_within: `${durationFlag('confirm-within', within, CONFIRM_WITHIN)}s` }),
  };
  try {
    const answer = await transport.send(
      { method: 'POST', path: '/changesets', body },
      { timeoutMs: CHANGESET_TIMEOUT_MS },
    );
    return (JSON.parse(answer.text) as { readonly revision: number }).revision;
  } catch (error) {
    if (error instanceof PosternApiError && CONFLICTS.has(error.code)) return null;
    if (error instanceof PosternConnectionError) {
      context.warn('postern: it is not known whether the change was applied: run the same command again');
    }
    const hint = operationHint(error, plan.changeset);
    if (hint !== null) context.warn(`postern: the operation that failed: ${hint}`);
    throw error;
  }
}

function isSameDifference(one: PreparedPlan, other: PreparedPlan): boolean {
  return JSON.stringify(changesAsJson(one.changes)) === JSON.stringify(changesAsJson(other.changes));
}

function reportTooMany({ operations }: PreparedPlan, context: CommandContext): number {
  context.warn(
    `postern: the difference needs ${operations.length} operations, and one change has at most ${MAX_OPERATIONS}: apply some of the files first`,
  );
  return EXIT_FAILED;
}

function reportConflict(why: string, context: CommandContext): number {
  context.warn(`postern: ${why}: nothing was applied. Look at "postern plan", then apply again`);
  return EXIT_CONFLICT;
}
