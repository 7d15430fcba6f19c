import type { ApiExtension } from '../api/api-extension.ts';
import { ConsoleFiles } from './serving/console-files.ts';
import { addPageRoutes, pageUrl } from './serving/page-routes.ts';

/** Everything below /console. */
export function openConsole(): ApiExtension {
  const files = new ConsoleFiles();
  return {
    paths: [{ method: 'GET', path: '/console' }],
    addRoutes: (app) => addPageRoutes(app, files),
    rewriteUrl: pageUrl,
  };
}
