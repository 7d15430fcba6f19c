import type { PosternError } from '../lib/errors.ts';
import { apiErrors } from './errors.ts';

export interface ServedPath {
  readonly method: string;
  readonly path: string;
}

export interface PathTable {
  readonly refusal: (method: string, url: string) => PosternError;
}

/** Distinguishes a path that does not exist from one that does not support the method. */
export function pathTable(served: readonly ServedPath[]): PathTable {
  const methods = new Map<string, Set<string>>();
  for (const { method, path } of served) {
    const known = methods.get(path) ?? new Set<string>();
    known.add(method);
    if (method === 'GET') known.add('HEAD');
    methods.set(path, known);
  }
  const rows = Array.from(methods, ([path, known]) => ({
    pattern: new RegExp(`^${path.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`),
    allowed: [...known].sort(),
  }));
  return {
    refusal: (method, url) => {
      const path = url.split('?')[0] ?? '';
      const allowed = [...new Set(rows.filter((row) => row.pattern.test(path)).flatMap((row) => row.allowed))];
      if (allowed.length === 0 || allowed.includes(method)) {
        return apiErrors.create(
          'ERR_POSTERN_UNKNOWN_PATH',
          'there is nothing at this path: GET /openapi.json or /docs shows what there is',
        );
      }
      return apiErrors.create(
        'ERR_POSTERN_METHOD_NOT_ALLOWED',
        `this path takes ${allowed.join(', ')}, not ${method}`,
        {
          headers: { allow: allowed.join(', ') },
        },
      );
    },
  };
}
