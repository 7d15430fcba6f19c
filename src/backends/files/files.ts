import { isAbsolute, resolve } from 'node:path';
import Type from 'typebox';
import { fileNameProblem, isIn } from '../../kit/files/open-file.ts';
import { bodyProblem } from '../../kit/schema/decode-body.ts';
import type { FieldProblem } from '../../kit/schema/field-problem.ts';
import {
  type BackendSettings,
  type BackendSnapshot,
  defineBackend,
  type Target,
  type TargetPorts,
} from '../backend.ts';

interface FilesConfig {
  readonly folder: string;
  readonly index_files: readonly string[];
  readonly fallback: string;
  readonly not_found_page: string;
  readonly listing: boolean;
  readonly compression: boolean;
}

/** What is wrong with the folder on this server, or null. Where it is after links are resolved, each request checks. */
function folderProblem(folder: string, { fileRoots, dataDir }: BackendSettings): string | null {
  if (!isAbsolute(folder) || resolve(folder) !== folder)
    return 'must be an absolute path without ".", "..", or a slash at its end';
  if (fileRoots === null) return null;
  if (fileRoots.length === 0)
    return 'is not allowed: the setting file_roots of the server (POSTERN_FILE_ROOTS) lists the folders that may be served, and it is empty. List this folder or one above it, and restart the server';
  if (!fileRoots.some((root) => isIn(folder, resolve(root))))
    return `is not below a folder of the setting file_roots of the server (${fileRoots.join(', ')}): list this folder or one above it (POSTERN_FILE_ROOTS), and restart the server`;
  return isIn(folder, dataDir) ? 'is in the data directory of the server, which is never served' : null;
}

function check(config: FilesConfig): readonly FieldProblem[] {
  const { index_files: indexFiles, fallback, not_found_page: notFoundPage } = config;
  const problems: [field: string, problem: string | null][] = [];
  for (const name of indexFiles) {
    const problem = name.includes('/') ? 'must list names of files, without slashes' : fileNameProblem(name);
    problems.push(['index_files', problem]);
  }
  for (const [field, name] of Object.entries({ fallback, not_found_page: notFoundPage }))
    if (name !== '') problems.push([field, fileNameProblem(name)]);
  return problems.flatMap(([field, problem]) => (problem === null ? [] : [bodyProblem(field, problem)]));
}

function filesTargets<Upstream>(
  backend: BackendSnapshot<FilesConfig>,
  ports: TargetPorts<Upstream>,
): readonly Target<Upstream>[] {
  const { folder, index_files: indexFiles, fallback, not_found_page: notFoundPage } = backend.config;
  const { listing, compression } = backend.config;
  const upstream = ports.folderOf(backend, () => ({
    ...{ folder, indexFiles, listing, compression },
    fallback: fallback === '' ? null : fallback,
    notFoundPage: notFoundPage === '' ? null : notFoundPage,
  }));
  return [{ kind: 'upstream', upstream, name: folder }];
}

/** Serves a folder of this server. */
export const files = defineBackend({
  name: 'files',
  idPrefix: 'bkdfi',
  title: 'a files backend',
  readsPath: () => 'the folder',
  description: 'Serves the files of a folder on the server.',
  config: () =>
    Type.Object({
      folder: Type.String({
        minLength: 1,
        maxLength: 4_096,
        description:
          'Absolute path of the folder on the server, such as "/srv/www". The setting file_roots must list it or a folder above it. All nodes that serve the site need it.',
      }),
      index_files: Type.Array(Type.String({ minLength: 1, maxLength: 255 }), {
        default: ['index.html'],
        maxItems: 10,
        description: 'Names of the files that are sent for a folder: the first that exists.',
      }),
      fallback: Type.String({
        default: '',
        maxLength: 1_024,
        description:
          'File that is sent, with 200, for every path that has no file, such as "index.html" for an application of one page. Empty: such a path is 404.',
      }),
      not_found_page: Type.String({
        default: '',
        maxLength: 1_024,
        description: 'File that is sent with 404, such as "404.html". Empty: a short page of the server.',
      }),
      listing: Type.Boolean({
        default: false,
        description: 'Show the names in a folder that has no index file. Otherwise it is 404.',
      }),
      compression: Type.Boolean({
        default: true,
        description:
          'Send text compressed to clients that accept it: a file with ".zst", ".br" or ".gz" beside it, or a form that is made once and kept in memory.',
      }),
    }),
  example: {
    folder: '/srv/www/docs',
    index_files: ['index.html'],
    fallback: '',
    not_found_page: '404.html',
    listing: false,
    compression: true,
  },
  check,
  checkOnServer: ({ folder }, settings) => {
    const problem = folderProblem(folder, settings);
    return problem === null ? [] : [bodyProblem('folder', problem)];
  },
  // Nothing leaves the edge.
  sendsTo: () => [],
  maySendToSame: (one, other) => isIn(one.folder, other.folder) || isIn(other.folder, one.folder),
  targets: filesTargets,
});
