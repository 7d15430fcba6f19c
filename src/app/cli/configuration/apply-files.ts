import { PosternApiError } from '../../../client/call-errors.ts';
import { SITE_EDGE } from '../../../client/sites.ts';
import type { ApiRequest } from '../../../client/transport.ts';
import type { FileObject } from '../../../control/configuration-file/file-object.ts';
import type { FileProblem } from '../../../control/configuration-file/format.ts';
import type { ObjectChange } from '../../../control/configuration-file/plan/object-change.ts';
import { PosternError } from '../../../kit/errors.ts';
import type { CommandContext } from '../command.ts';
import { printable } from '../output/cell-text.ts';
import { readChecked, readWrittenFiles } from './load-configuration.ts';
import { CONFLICTS, operationHint, preparePlan, summaryText } from './prepare-plan.ts';
import type { ApiSender } from './read-installation.ts';

export interface FilesToApply {
  readonly paths: readonly string[];
  /** Secrets of the files come from here. */
  readonly env: CommandContext['env'];
  /** For files that name no owner. */
  readonly owner: string;
  readonly message: string;
  /** Whether the files may leave less than half of the sites that they had. */
  readonly mayShrink: boolean;
  /** Runs an operation of the API and returns the text of its answer. */
  readonly call: (request: ApiRequest) => Promise<string>;
}

export type FilesApplied =
  /** Null: nothing was to be changed. */
  | { readonly revision: number | null; readonly summary: string }
  /** Nothing was changed. `isUnconfirmed`: somebody must say that it is meant. */
  | { readonly problem: string; readonly isUnconfirmed?: true };

const MAX_ATTEMPTS = 5;
const NO_PROGRESS = { report: () => {} };

/** As `postern apply --prune --yes`, without a person: for a server that applies files to itself. */
export async function applyFiles(files: FilesToApply): Promise<FilesApplied> {
  try {
    return await apply(files);
  } catch (error) {
    // The error's message is a sentence for the operator. Anything else is a mistake of the program.
    if (error instanceof PosternError || error instanceof PosternApiError)
      return { problem: printable(withoutEnd(error.message)) };
    throw error;
  }
}

async function apply({ paths, env, owner, message, mayShrink, call }: FilesToApply): Promise<FilesApplied> {
  const loaded = await readChecked(await readWrittenFiles(paths), env);
  if ('problems' in loaded) return { problem: textOf(loaded.problems) };
  // Nobody reads a notice here: a server needs every secret that its files name.
  if (loaded.notGiven.size > 0) return { problem: textOf([...loaded.notGiven.values()]) };
  const configuration = { ...loaded.configuration, owner: loaded.configuration.owner ?? owner };
  const sender = senderOf(call);
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const request = { ...loaded, configuration, isPruning: true, isTakeOver: false };
    const prepared = await preparePlan(sender, request, NO_PROGRESS);
    if ('moving' in prepared) break;
    if ('problems' in prepared) return { problem: textOf(prepared.problems) };
    const { plan } = prepared;
    const summary = summaryText(plan.changes);
    if (plan.isEmpty) return { revision: null, summary };
    const lost = mayShrink ? null : lostSites(plan.changes, configuration.objects);
    if (lost !== null) return { problem: printable(lost), isUnconfirmed: true };
    try {
      const body = { ...plan.changeset, message };
      const { text } = await sender.send({ method: 'POST', path: '/changesets', body });
      return { ...(JSON.parse(text) as { readonly revision: number }), summary };
    } catch (error) {
      if (error instanceof PosternApiError && CONFLICTS.has(error.code)) continue;
      const hint = operationHint(error, plan.changeset);
      if (hint === null) throw error;
      return { problem: printable(`${hint}: ${withoutEnd((error as Error).message)}`) };
    }
  }
  return { problem: 'others kept changing the configuration' };
}

const SITE: string = SITE_EDGE.kind;
const SHOWN_SITES = 20;

/**
 * A file that was truncated, or emptied by mistake, removes most of its sites. Null: it leaves at least half of them.
 */
function lostSites(changes: readonly ObjectChange[], objects: readonly FileObject[]): string | null {
  const sites = changes.filter(({ kind }) => kind.resource.kind === SITE);
  const removed = sites.filter(({ action }) => action === 'remove').map(({ name }) => name);
  const added = sites.filter(({ action }) => action === 'add').length;
  const left = objects.filter(({ kind }) => kind.resource.kind === SITE).length;
  const before = left - added + removed.length;
  if (removed.length === 0 || left * 2 >= before) return null;
  const more = removed.length > SHOWN_SITES ? ` and ${removed.length - SHOWN_SITES} more` : '';
  return `${removed.length} of ${before} sites would be removed: ${removed.slice(0, SHOWN_SITES).join(', ')}${more}`;
}

/** The errors are those of a client, which plans know. */
function senderOf(call: FilesToApply['call']): ApiSender {
  return {
    send: async (request) => {
      try {
        return { text: await call(request) };
      } catch (error) {
        if (!(error instanceof PosternError)) throw error;
        const { code, status, details, message } = error;
        throw new PosternApiError({
          ...{ code, status, details, message },
          ...{ operationId: null, retryAfterMs: null, text: '' },
        });
      }
    },
  };
}

function textOf(problems: readonly FileProblem[]): string {
  const [first] = problems;
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : '';
  return printable(first === undefined ? '' : `${first.file}:${first.line}: ${withoutEnd(first.problem)}${more}`);
}

function withoutEnd(sentence: string): string {
  return sentence.replace(/\.$/, '');
}
