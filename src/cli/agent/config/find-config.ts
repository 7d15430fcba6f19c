import { join } from 'node:path';
import { whyUnreadable } from '../../../lib/error-text.ts';
import type { AgentPorts } from '../agent-ports.ts';
import { agentCommandErrors } from '../errors.ts';
import type { AgentConfig } from './agent-config.ts';
import { readAgentConfig } from './read-agent-config.ts';

/** The name says whose file it is where files of other programs may lie. A folder of Postern's own needs no prefix. */
const FILE_HERE = 'postern-agent.yaml';
export const FILE_IN_FOLDER = 'agent.yaml';
const MAX_BYTES = 1_048_576;

export interface ConfigFile {
  readonly path: string;
  readonly text: string;
  /** The user named it, or it is in the user's own folder. One that the current directory happens to have may be anybody's. */
  readonly isOwn: boolean;
}

/** What the agent's commands take from a configuration file. */
export interface LoadedFile {
  readonly path: string;
  readonly isOwn: boolean;
  readonly config: AgentConfig;
}

/** The named file, or the first of the usual ones that exists; null when there is none. */
export async function findConfigFile(
  named: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
  files: AgentPorts['files'],
): Promise<ConfigFile | null> {
  if (named !== undefined) return { path: named, text: await readWhole(named, files), isOwn: true };
  for (const path of configPlaces(env, files.home)) {
    if (!(await files.exists(path))) continue;
    return { path, text: await readWhole(path, files), isOwn: path !== FILE_HERE };
  }
  return null;
}

export async function loadConfigFile(
  named: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
  files: AgentPorts['files'],
): Promise<LoadedFile | null> {
  const file = await findConfigFile(named, env, files);
  if (file === null) return null;
  const { path, text, isOwn } = file;
  return { path, isOwn, config: readAgentConfig(text, path) };
}

export function configPlaces(env: Readonly<Record<string, string | undefined>>, home: string): readonly string[] {
  const userFolders = [env['XDG_CONFIG_HOME'] || null, join(home, '.config')];
  const inFolders = userFolders.flatMap((folder) => (folder === null ? [] : [join(folder, 'postern', FILE_IN_FOLDER)]));
  return [...new Set([FILE_HERE, ...inFolders])];
}

async function readWhole(path: string, files: AgentPorts['files']): Promise<string> {
  try {
    const text = await files.read(path);
    if (text.length <= MAX_BYTES) return text;
  } catch (cause) {
    const message = `cannot read the configuration file ${path}: ${whyUnreadable(cause)}`;
    throw agentCommandErrors.create('ERR_POSTERN_AGENT_CONFIG', message, { cause });
  }
  throw agentCommandErrors.create('ERR_POSTERN_AGENT_CONFIG', `the configuration file ${path} is too large`);
}
