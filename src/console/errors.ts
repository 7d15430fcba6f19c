import { errorTable } from '../lib/errors.ts';

export const consoleErrors = errorTable({
  ERR_POSTERN_CONSOLE_NOT_BUILT: {
    status: 503,
    explanation:
      'The page of the console has not been built. Run "npm ci" and "npm run build:console" in the checkout; packages and executables contain it.',
  },
});
