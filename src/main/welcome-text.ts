import { basename, relative } from 'node:path';
import type { RunningServer } from './server.ts';
import { programVersion } from './version.ts';

/** For the person who typed `npm start`: where it is, what to keep, what to type next. */
export function welcomeText({ baseUrl, bootstrapped: { apiKey, authtoken } }: RunningServer): string {
  const rows = [`  API         ${baseUrl}`, `  Docs        ${baseUrl}/docs`];
  if (apiKey !== null) rows.push(`  API key     ${apiKey}`);
  if (authtoken !== null) rows.push(`  Authtoken   ${authtoken}`);
  if (apiKey !== null || authtoken !== null) rows.push('', '  These are shown once and stored hashed: keep them now.');
  const key = apiKey ?? 'YOUR-API-KEY';
  return [
    '',
    `  Postern ${programVersion()} is ready.`,
    '',
    ...rows,
    '',
    '  Next, in another terminal:',
    '',
    `  export POSTERN_API_URL=${baseUrl} POSTERN_API_KEY=${key}`,
    `  ${ownCommand()} api https-edges create --hostports app.localhost:7443`,
    '',
  ].join('\n');
}

/** How to call this program again, from this directory. */
function ownCommand(): string {
  const [, program = ''] = process.argv;
  return basename(program) === 'postern.mjs' ? `node ${relative(process.cwd(), program)}` : 'postern';
}
