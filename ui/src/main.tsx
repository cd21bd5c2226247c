/** Where the page begins. */
import { render } from "preact";
import { App } from "./shell/app";
import { startTheme } from "./state/theme";
import "uplot/dist/uPlot.min.css";
import "./style.css";

startTheme();
const page = document.getElementById("page");
if (page) render(<App />, page);
