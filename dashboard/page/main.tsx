/** The entry of the page. */

import { render } from 'preact';
import { App } from './app.tsx';
import { Model } from './state/model.ts';
import { listen, takeToken } from './state/server.ts';
import { ModelContext } from './state/use-model.ts';

takeToken();
// The address with the token may be opened where the page is open: only its hash changes.
addEventListener('hashchange', takeToken);
const model = new Model();
render(
  <ModelContext.Provider value={model}>
    <App />
  </ModelContext.Provider>,
  document.body,
);
listen(model);
