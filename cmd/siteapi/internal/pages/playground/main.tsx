// The page at /playground: GraphiQL with the service's main operations in tabs.
import "./nonce";
import "./workers";
import { createRoot } from "react-dom/client";
import "monaco-graphql/esm/monaco-editor.js"; // imported here so that the page's style sheet contains its styles
import "@graphiql/react/style.css";
import "@graphiql/plugin-doc-explorer/style.css";
import "@graphiql/plugin-history/style.css";
import "graphiql/graphiql.css";
import "./playground.css";
import { Playground } from "./playground";
import { readPage } from "./page";

const page = readPage();
createRoot(page.root).render(<Playground page={page} />);
