document.title = "Calculator";
